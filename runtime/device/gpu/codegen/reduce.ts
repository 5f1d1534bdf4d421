import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, type KernelPlan, output, scratch, singleStage } from '../core/kernel-plan.ts';
import { divisionCode, indexCode, joinedLoops } from './index-code.ts';
import type { NamedPlan } from './named-plan.ts';
import { StageWriter, thread } from './stage-writer.ts';

/** A fold of values, in a fixed order. */
interface Fold {
  /** Returns the accumulator's initial value. */
  readonly start: (w: StageWriter) => string;
  /** Returns the statement that folds `value` into `sum`. */
  readonly step: (sum: string, value: string) => string;
}

const addition: Fold = { start: () => '0.0', step: (sum, value) => `${sum}=${sum}+${value};` };

const product: Fold = { start: () => '1.0', step: (prod, value) => `${prod}=${prod}*${value};` };

/** NaN wins, as in PyTorch; comparisons with NaN are false. */
function extreme(sign: '>' | '<'): Fold {
  return {
    start: (w) => (sign === '>' ? `(-${w.infinity})` : w.infinity),
    step: (best, v) => {
      const worse = sign === '>' ? '<=' : '>=';
      return `if(!(${v}${worse}${best})){if(${v}${sign}${best}){${best}=${v};}else{${best}=${best}+${v};}}`;
    },
  };
}

const largest = extreme('>');
const smallest = extreme('<');

/** From this many elements on, with few outputs, one thread per output would leave the GPU idle. */
const longReduction = 1024;
const fewOutputs = 8192;

/** Folds `x` over `dims`; the output's elements are the other dimensions in order. */
function reducePlan(
  x: TensorMeta,
  dims: readonly number[],
  out: TensorMeta,
  fold: Fold,
): KernelPlan {
  const kept = x.shape.map((_, d) => !dims.includes(d));
  const keptShape = x.shape.filter((_, d) => kept[d]);
  const keptStrides = x.strides.filter((_, d) => kept[d]);
  const shape = x.shape.filter((_, d) => !kept[d]);
  const strides = x.strides.filter((_, d) => !kept[d]);
  const count = sizeOf(shape);
  const outputs = sizeOf(keptShape);
  if (count > longReduction && outputs < fewOutputs) {
    return twoStagePlan({ keptShape, keptStrides, shape, strides, count, outputs }, out, fold);
  }
  const w = new StageWriter();
  const ref = w.array(input(0));
  const [base] = w.indices(keptShape, [keptStrides]);
  const sum = w.let(fold.start(w));
  nestedLoops(w, shape, strides, base!, (index) => {
    w.line(fold.step(sum, w.let(ref.at(index))));
  });
  return singleStage(w.into(output(0), out, sum));
}

function nestedLoops(
  w: StageWriter,
  shape: readonly number[],
  strides: readonly number[],
  base: string,
  body: (index: string) => void,
): void {
  const loops = joinedLoops(shape, [strides]);
  const nest = (d: number, index: string) => {
    const loop = loops[d];
    if (!loop) body(index);
    else w.loop(loop.size, (k) => nest(d + 1, `${index}+${k}*${loop.strides[0]!}`));
  };
  nest(0, base);
}

interface Reduction {
  readonly keptShape: readonly number[];
  readonly keptStrides: readonly number[];
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly count: number;
  readonly outputs: number;
}

/** Computes about √count partial results per output, then folds them. */
function twoStagePlan(r: Reduction, out: TensorMeta, fold: Fold): KernelPlan {
  const length = Math.ceil(Math.sqrt(r.count));
  const parts = Math.ceil(r.count / length);
  const first = new StageWriter();
  const ref = first.array(input(0));
  first.line(...divisionCode(thread, parts, 'out', 'part'));
  const [base] = first.indices(r.keptShape, [r.keptStrides], 'out');
  const partial = first.let(fold.start(first));
  first.loop(length, (k) => {
    const number = first.let(`part*${length}+${k}`);
    first.line(`if(${number}<${r.count}){`);
    const { lines, indices } = indexCode(number, r.shape, [r.strides], first.name());
    first.line(...lines);
    first.line(fold.step(partial, first.let(ref.at(`${base}+${indices[0]}`))));
    first.line('}');
  });
  const second = new StageWriter();
  const partials = second.array(scratch(0));
  const total = second.let(fold.start(second));
  second.loop(parts, (k) => {
    second.line(fold.step(total, second.let(partials.at(`${thread}*${parts}+${k}`))));
  });
  return {
    scratch: [r.outputs * parts],
    stages: [
      first.intoScratch(scratch(0), r.outputs * parts, partial),
      second.into(output(0), out, total),
    ],
  };
}

export const sum: NamedPlan = ([x], [out], { dims }) =>
  reducePlan(x!, dims as readonly number[], out!, addition);

export const max: NamedPlan = ([x], [out], { dims }) =>
  reducePlan(x!, dims as readonly number[], out!, largest);

export const min: NamedPlan = ([x], [out], { dims }) =>
  reducePlan(x!, dims as readonly number[], out!, smallest);

export const prod: NamedPlan = ([x], [out], { dims }) =>
  reducePlan(x!, dims as readonly number[], out!, product);

/** The dimensions of `x` that broadcasting `like` to it repeats. */
export const sumTo: NamedPlan = ([x, like], [out]) => {
  const lead = x!.shape.length - like!.shape.length;
  const repeated = (size: number, d: number) =>
    d < lead || (like!.shape[d - lead] === 1 && size !== 1);
  const dims = x!.shape.flatMap((size, d) => (repeated(size, d) ? [d] : []));
  return reducePlan(x!, dims, out!, addition);
};

/** Returns the index of the first largest or smallest element; NaN counts as both. */
function extremeIndexPlan(sign: '>' | '<'): NamedPlan {
  const worse = sign === '>' ? '<=' : '>=';
  return ([x], [out], attrs) => {
    const dim = attrs.dim as number;
    const w = new StageWriter();
    const ref = w.array(input(0));
    const others = (list: readonly number[]) => list.filter((_, d) => d !== dim);
    const [base] = w.indices(others(x!.shape), [others(x!.strides)]);
    const best = w.let(extreme(sign).start(w));
    const place = w.let('0.0');
    // A scalar has one element.
    w.loop(x!.shape[dim] ?? 1, (k) => {
      const value = w.let(ref.at(`${base}+${k}*${x!.strides[dim] ?? 0}`));
      const take = `${best}=${value};${place}=${k};`;
      const takeFirstNaN = `if(${best}>0.0||${best}<=0.0){${take}}`;
      w.line(
        `if(!(${value}${worse}${best})){if(${value}${sign}${best}){${take}}else{${takeFirstNaN}}}`,
      );
    });
    return singleStage(w.into(output(0), out!, place));
  };
}

export const argmax = extremeIndexPlan('>');
export const argmin = extremeIndexPlan('<');

/** Sums many values of one row, given by source text. */
export function sumOfLoop(w: StageWriter, count: number, value: (k: string) => string): string {
  const total = w.let('0.0');
  w.loop(count, (k) => w.line(`${total}=${total}+${value(k)};`));
  return total;
}

export function maxOfLoop(w: StageWriter, count: number, value: (k: string) => string): string {
  const best = w.let(largest.start(w));
  w.loop(count, (k) => w.line(largest.step(best, w.let(value(k)))));
  return best;
}
