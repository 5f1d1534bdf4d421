import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, type KernelPlan, output, scratch, singleStage } from '../core/kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import { unaryCode } from './math-code.ts';
import type { NamedPlan } from './named-plan.ts';
import { maxOfLoop, sumOfLoop } from './reduce.ts';
import { StageWriter, thread } from './stage-writer.ts';

/** Reads an operand's element at a position of the current row. */
type Row = (operand: number, place: string) => string;

/** An op along the last dimension: computes numbers of the whole row, then each element from them. */
interface RowOp {
  /** Folds the row; returns the names of the results. */
  readonly row: (w: StageWriter, read: Row, length: number) => readonly string[];
  /** Computes one element from its operands' elements and the row's numbers. */
  readonly element: (w: StageWriter, own: readonly string[], row: readonly string[]) => string;
  /** The count of numbers that `row` returns. */
  readonly numbers: number;
}

/** Rows up to this length are folded again by each of their threads, which is cheaper than another kernel. */
const shortRow = 64;

const softmaxRow: Pick<RowOp, 'row' | 'numbers'> = {
  numbers: 2,
  row: (w, read, length) => {
    const top = maxOfLoop(w, length, (k) => read(0, k));
    const sum = sumOfLoop(w, length, (k) => exp(w, w.let(`${read(0, k)}-${top}`)));
    return [top, sum];
  },
};

const exp = (w: StageWriter, x: string) => unaryCode.exp(w, x);

const rowOps: {
  readonly [N in 'softmax' | 'logSoftmax' | 'softmaxGrad' | 'logSoftmaxGrad']: RowOp;
} = {
  softmax: {
    ...softmaxRow,
    element: (w, [x], [top, sum]) => `${exp(w, w.let(`${x}-${top}`))}/${sum}`,
  },
  logSoftmax: {
    ...softmaxRow,
    // The sum is at least 1, so there is no domain error to guard against.
    element: (w, [x], [top, sum]) => `(${x}-${top})-${unaryCode.log(w, sum!)}`,
  },
  softmaxGrad: {
    numbers: 1,
    row: (w, read, length) => [sumOfLoop(w, length, (k) => `${read(0, k)}*${read(1, k)}`)],
    element: (_w, [dy, out], [sum]) => `(${dy}-${sum})*${out}`,
  },
  logSoftmaxGrad: {
    numbers: 1,
    row: (w, read, length) => [sumOfLoop(w, length, (k) => read(0, k))],
    element: (w, [dy, out], [sum]) => `${dy}-${exp(w, out!)}*${sum}`,
  },
};

export const softmax = rowPlan(rowOps.softmax);
export const logSoftmax = rowPlan(rowOps.logSoftmax);
export const softmaxGrad = rowPlan(rowOps.softmaxGrad);
export const logSoftmaxGrad = rowPlan(rowOps.logSoftmaxGrad);

function rowPlan(op: RowOp): NamedPlan {
  return (inputs, [out]) => {
    // A scalar is one row of one element.
    const length = out!.shape.at(-1) ?? 1;
    return length <= shortRow
      ? oneStage(op, inputs, out!, length)
      : twoStages(op, inputs, out!, length);
  };
}

const withoutLast = (list: readonly number[]) => list.slice(0, -1);

function rowReader(w: StageWriter, inputs: readonly TensorMeta[], bases: readonly string[]): Row {
  const refs = inputs.map((_, i) => w.array(input(i)));
  return (i, place) => refs[i]!.at(`${bases[i]}+${place}*${inputs[i]!.strides.at(-1) ?? 0}`);
}

function oneStage(
  op: RowOp,
  inputs: readonly TensorMeta[],
  out: TensorMeta,
  length: number,
): KernelPlan {
  const w = new StageWriter();
  w.line(...divisionCode(thread, length, 'row', 'place'));
  const bases = w.indices(
    withoutLast(out.shape),
    inputs.map((x) => withoutLast(x.strides)),
    'row',
  );
  const read = rowReader(w, inputs, bases);
  const numbers = op.row(w, read, length);
  const loaded = inputs.map((_, i) => w.let(read(i, 'place')));
  return singleStage(w.into(output(0), out, op.element(w, loaded, numbers)));
}

function twoStages(
  op: RowOp,
  inputs: readonly TensorMeta[],
  out: TensorMeta,
  length: number,
): KernelPlan {
  const rows = sizeOf(withoutLast(out.shape));
  const first = new StageWriter();
  first.line(...divisionCode(thread, op.numbers, 'row', 'which'));
  const bases = first.indices(
    withoutLast(out.shape),
    inputs.map((x) => withoutLast(x.strides)),
    'row',
  );
  const numbers = op.row(first, rowReader(first, inputs, bases), length);
  const result = numbers.length === 1 ? numbers[0]! : `(which<0.5?${numbers[0]}:${numbers[1]})`;
  const second = new StageWriter();
  second.line(...divisionCode(thread, length, 'row', 'place'));
  const folded = second.array(scratch(0));
  const row = numbers.map((_, n) => second.let(folded.at(`row*${op.numbers}+${n}`)));
  const indices = second.indices(
    out.shape,
    inputs.map((x) => x.strides),
  );
  const loaded = inputs.map((_, i) => second.let(second.array(input(i), true).at(indices[i]!)));
  return {
    scratch: [rows * op.numbers],
    stages: [
      first.intoScratch(scratch(0), rows * op.numbers, result),
      second.into(output(0), out, op.element(second, loaded, row)),
    ],
  };
}
