import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output } from '../core/kernel-plan.ts';
import { beginWithWords, rowUnits, unitOf } from './each-element.ts';
import { elementTypeOf } from './elements/element-type.ts';
import { type Fold, folds } from './fold-text.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { chosenByNothing, type WgslOperand, type WgslPlan } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** Numbers of a row, found one after the other, each a fold of all its elements. */
export interface RowFold {
  readonly fold: Fold;
  /** An element's contribution to the fold, from the operands' elements and the earlier numbers. */
  readonly value: (own: readonly string[], known: readonly string[]) => string;
}

/** An op along the last dimension: numbers of the whole row first, then each element from them. */
export interface RowOp {
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

/** Threads that share a row: a power of 2. */
export function threadsPerRow(length: number): number {
  if (length < 32) return 1;
  if (length < 128) return 8;
  return length < 1024 ? 32 : 64;
}

/** One dispatch: threads of a workgroup fold a row together, then each writes its elements. */
export function rowPlan(
  name: RowOpName,
  inputs: readonly TensorMeta[],
  [out]: readonly TensorMeta[],
): WgslPlan {
  const op: RowOp = rowOps[name];
  const metas = [...inputs, out!];
  // A tensor without dimensions is one row of one element.
  const length = out!.shape.at(-1) ?? 1;
  const rowShape = out!.shape.slice(0, -1);
  const rows = sizeOf(rowShape);
  const { loops } = walksOf(
    rowShape,
    metas.map(({ strides }) => strides.slice(0, -1)),
  );
  const slices = threadsPerRow(length);
  const perGroup = workgroupThreads / slices;
  const operands = metas.map(({ shape, strides, dtype }, i): WgslOperand => {
    const type = elementTypeOf(dtype);
    return {
      slot: i < inputs.length ? input(i) : output(0),
      written: i === inputs.length,
      // All of a row is read before its first element is written.
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
          const place = (i: number) => {
            const stride = metas[i]!.strides.at(-1) ?? 0;
            const step = stride === 1 ? '' : ` * ${w.count(`step${i}`, stride)}`;
            return `${starts[i]!} + k${step}`;
          };
          const own = () => inputs.map((_, i) => w.let(w.load(i, place(i))));
          const loop = (body: () => void) => {
            w.line(`for (var k = s; k < end; k = k + ${slices}u) {`);
            body();
            w.line('}');
          };
          const known: string[] = [];
          op.rowFolds.forEach(({ fold, value }, f) => {
            const name = `x${f}`;
            const step = (v: string) => `${name} = fold${f}(${name}, ${v});`;
            w.function(`fold${f}(x : f32, v : f32) -> f32`, () => w.line(`return ${fold.step};`));
            w.line(`var ${name} = ${fold.start};`);
            loop(() => w.line(step(value(own(), known))));
            if (slices > 1) {
              w.shared(`partial${f}`, `array<f32, ${workgroupThreads}>`);
              w.line(
                `partial${f}[thread] = ${name};`,
                'workgroupBarrier();',
                `${name} = partial${f}[q * ${slices}u];`,
                `for (var j = 1u; j < ${slices}u; j = j + 1u) { ${step(`partial${f}[q * ${slices}u + j]`)} }`,
              );
            }
            known.push(name);
          });
          const last = inputs.length;
          rowUnits(w, unitOf(operands, issue), slices, () => {
            w.line(w.store(last, place(last), op.element(own(), known)));
          });
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
