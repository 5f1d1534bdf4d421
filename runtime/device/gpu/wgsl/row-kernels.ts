import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output } from '../core/kernel-plan.ts';
import { beginWithWords, rowUnits, type Unit, unitOf } from './each-element.ts';
import { elementTypeOf } from './elements/element-type.ts';
import { type Fold, folds } from './fold-text.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { foldThreads } from './thread-folds.ts';
import { chosenByNothing, type WgslOperand, type WgslPlan } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** A number of a row: a fold of all its elements, in order. */
export interface RowFold {
  readonly fold: Fold;
  /** Returns an element's contribution to the fold, from the operands' elements and the earlier numbers. */
  readonly value: (own: readonly string[], known: readonly string[]) => string;
}

/** An op along the last dimension: computes numbers of the whole row, then each element from them. */
interface RowOp {
  readonly rowFolds: readonly RowFold[];
  readonly element: (own: readonly string[], known: readonly string[]) => string;
}

const exponentials: readonly RowFold[] = [
  { fold: folds.max, value: ([x]) => x! },
  { fold: folds.sum, value: ([x], [top]) => `f_exp(${x} - ${top})` },
];

export const rowOps = {
  softmax: {
    rowFolds: exponentials,
    element: ([x], [top, sum]) => `f_exp(${x} - ${top}) / ${sum}`,
  },
  logSoftmax: {
    rowFolds: exponentials,
    element: ([x], [top, sum]) => `(${x} - ${top}) - f_log(${sum})`,
  },
  softmaxGrad: {
    rowFolds: [{ fold: folds.sum, value: ([dy, out]) => `${dy} * ${out}` }],
    element: ([dy, out], [sum]) => `(${dy} - ${sum}) * ${out}`,
  },
  logSoftmaxGrad: {
    rowFolds: [{ fold: folds.sum, value: ([dy]) => dy! }],
    element: ([dy, out], [sum]) => `${dy} - f_exp(${out}) * ${sum}`,
  },
} as const satisfies Record<string, RowOp>;

export type RowOpName = keyof typeof rowOps;

/** Returns the number of threads that share a row: a power of 2. */
export function threadsPerRow(length: number): number {
  if (length < 32) return 1;
  if (length < 128) return 8;
  return length < 1024 ? 32 : 64;
}

/** The number of elements that a thread may keep in registers. */
const mostHeld = 32;

/** The distribution of rows over a workgroup's threads. */
interface RowSharing {
  /** The threads per row: a power of 2. */
  readonly slices: number;
  /** The number of elements of a row that a thread loads once and keeps; 0 if it loads them for each fold. */
  readonly held: number;
}

/** Reads each row once if its threads can keep it in registers. */
export function rowSharing(length: number, mayHold = true): RowSharing {
  const slices = threadsPerRow(length);
  const each = 2 ** Math.ceil(Math.log2(Math.max(1, length / slices)));
  return { slices, held: mayHold && slices > 1 && each <= mostHeld ? each : 0 };
}

/** Returns one dispatch: threads of a workgroup fold a row together, then each writes its elements. */
export function rowPlan(
  name: RowOpName,
  inputs: readonly TensorMeta[],
  [out]: readonly TensorMeta[],
): WgslPlan {
  const op: RowOp = rowOps[name];
  const metas = [...inputs, out!];
  // A scalar is one row of one element.
  const length = out!.shape.at(-1) ?? 1;
  const rowShape = out!.shape.slice(0, -1);
  const rows = sizeOf(rowShape);
  const { loops } = walksOf(
    rowShape,
    metas.map(({ strides }) => strides.slice(0, -1)),
  );
  const operands = metas.map(({ shape, strides, dtype }, i): WgslOperand => {
    const type = elementTypeOf(dtype);
    return {
      slot: i < inputs.length ? input(i) : output(0),
      written: i === inputs.length,
      // The whole row is read before its first element is written.
      walk: strides.join(),
      elements: sizeOf(shape),
      type,
      inOrder: (strides.at(-1) ?? 1) === 1 && beginWithWords(type, length, strides.slice(0, -1)),
    };
  });
  return {
    scratch: [],
    stages: [
      {
        operands,
        isEmpty: rows * length === 0,
        chosenBy: chosenByNothing,
        write: (issue) => {
          const unit = unitOf(operands, issue);
          const { slices, held } = rowSharing(length, unit.elements === 1);
          const perGroup = workgroupThreads / slices;
          const w = new WgslWriter(workgroupThreads, issue);
          const [count, size] = [w.count('rows', rows), w.count('size', length)];
          w.line(
            `let s = thread % ${slices}u;`,
            `let q = thread / ${slices}u;`,
            `let o = group * ${perGroup}u + q;`,
            `let end = select(0u, ${size}, o < ${count});`,
          );
          const bases = indexTexts(w, loops, 'o', 'row_');
          const starts = bases.map((base, i) => w.let(`${w.offset(i)} + ${base}`));
          const place = (i: number, k: string) => {
            const stride = metas[i]!.strides.at(-1) ?? 0;
            const step = stride === 1 ? '' : ` * ${w.count(`step${i}`, stride)}`;
            return `${starts[i]!} + ${k}${step}`;
          };
          const loaded = (k: string) => inputs.map((_, i) => w.let(w.load(i, place(i, k))));
          const last = inputs.length;
          const store = (k: string, elements: readonly string[], known: readonly string[]) =>
            w.store(last, place(last, k), op.element(elements, known));
          const each = heldRow(w, held, slices, size, loaded) ?? loopedRow(w, unit, slices, loaded);
          const known: string[] = [];
          op.rowFolds.forEach(({ fold, value }, f) => {
            const name = `x${f}`;
            const step = (v: string) => `fold${f}(${name}, ${v})`;
            w.function(`fold${f}(x : f32, v : f32) -> f32`, () => w.line(`return ${fold.step};`));
            w.line(`var ${name} = ${fold.start};`);
            each.fold(name, (elements) => step(value(elements, known)));
            if (slices > 1) {
              const [type, threads, partial] = ['f32', workgroupThreads, `partial${f}`] as const;
              const by = (x: string, v: string) => `fold${f}(${x}, ${v})`;
              foldThreads(w, { name, type, slices, threads, partial, step: by });
            }
            known.push(name);
          });
          each.store((k, elements) => store(k, elements, known));
          return {
            text: w.text(),
            uniforms: w.uniforms,
            groups: groupsOf(Math.ceil(rows / perGroup)),
          };
        },
      },
    ],
  };
}

/** Work of a thread on its elements of a row; callbacks receive their values by operand. */
interface OwnElements {
  /** Folds them into the variable `name`. */
  fold(name: string, folded: (elements: readonly string[]) => string): void;
  /** Writes the statement for each element. */
  store(statement: (k: string, elements: readonly string[]) => string): void;
}

/** Returns elements that are loaded once; null if none are kept. Branch-free: outside, the last is read. */
function heldRow(
  w: WgslWriter,
  held: number,
  slices: number,
  size: string,
  own: (k: string) => readonly string[],
): OwnElements | null {
  if (held === 0) return null;
  const elements = Array.from({ length: held }, (_, j) => {
    const k = j === 0 ? 's' : w.let(`s + ${j * slices}u`);
    return { k, values: own(`min(${k}, ${size} - 1u)`) };
  });
  return {
    fold: (name, folded) => {
      for (const { k, values } of elements) {
        w.line(`${name} = select(${name}, ${folded(values)}, ${k} < end);`);
      }
    },
    store: (statement) => {
      for (const { k, values } of elements) w.line(`if (${k} < end) { ${statement(k, values)} }`);
    },
  };
}

/** Returns elements that are loaded each time. */
function loopedRow(
  w: WgslWriter,
  unit: Unit,
  slices: number,
  own: (k: string) => readonly string[],
): OwnElements {
  return {
    fold: (name, folded) => {
      w.line(`for (var k = s; k < end; k = k + ${slices}u) {`);
      w.line(`${name} = ${folded(own('k'))};`, '}');
    },
    store: (statement) => rowUnits(w, unit, slices, () => w.line(statement('k', own('k')))),
  };
}
