/** Naive references of reductions and scans. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { at, indices, type Nd, type Reference, reduction } from './reference.ts';

interface Case {
  readonly inputs: readonly {
    readonly shape: Shape;
    readonly dtype: DType;
    readonly range: readonly [low: number, high: number];
  }[];
  readonly attrs: Attrs;
  readonly reference: Reference;
}

const float = (...shape: number[]) =>
  ({ shape, dtype: 'float32', range: [-2, 2] }) as const satisfies Case['inputs'][number];
const int = (...shape: number[]) =>
  ({ shape, dtype: 'int32', range: [-3, 4] }) as const satisfies Case['inputs'][number];

const product = (values: readonly number[]) => values.reduce((a, b) => a * b, 1);

/** The row of an element along a dimension, and its place there. */
function rowOf(x: Nd, index: readonly number[], dim: number): number[] {
  return Array.from({ length: x.shape[dim]! }, (_, k) =>
    at(
      x,
      index.map((own, d) => (d === dim ? k : own)),
    ),
  );
}

/** Each element from the rows that it lies in. */
function alongDim(
  fn: (rows: readonly number[][], place: number, attrs: Attrs) => number,
): Reference {
  return (inputs, attrs) =>
    indices(inputs[0]!.shape).map((index) => {
      const dim = attrs.dim as number;
      return fn(
        inputs.map((input) => rowOf(input, index, dim)),
        index[dim]!,
        attrs,
      );
    });
}

const partialSum = alongDim(([row], place, { reverse }) =>
  (reverse ? row!.slice(place) : row!.slice(0, place + 1)).reduce((a, b) => a + b),
);

const cumprodGradient = alongDim(([dy, row], place) =>
  dy!.reduce((sum, weight, j) => {
    if (j < place) return sum;
    return sum + weight * product(row!.slice(0, j + 1).filter((_, k) => k !== place));
  }, 0),
);

export const reductionReferences: Readonly<Record<string, readonly Case[]>> = {
  min: [[0], [1], [0, 2]].flatMap((dims) =>
    [float(3, 4, 5), int(3, 4, 5)].map((input) => ({
      inputs: [input],
      attrs: { dims, keepDim: false },
      reference: reduction((entries) => Math.min(...entries)),
    })),
  ),
  prod: [0, 1, 2].flatMap((dim) =>
    [float(3, 4, 5), int(3, 4, 5), float(2, 3, 20)].map((input) => ({
      inputs: [input],
      attrs: { dims: [dim], keepDim: dim === 1 },
      reference: reduction(product),
    })),
  ),
  argmin: [0, 1, 2].map((dim) => ({
    inputs: [int(3, 4, 5)],
    attrs: { dim },
    reference: ([x]) =>
      reduction((entries) => entries.indexOf(Math.min(...entries)))([x!], { dims: [dim] }),
  })),
  cumsum: [0, 1, 2].flatMap((dim) =>
    [float(3, 4, 5), int(3, 4, 5)].map((input) => ({
      inputs: [input],
      attrs: { dim, reverse: dim === 1 },
      reference: partialSum,
    })),
  ),
  cumprod: [0, 1, 2].flatMap((dim) =>
    [float(3, 4, 5), int(3, 4, 5)].map((input) => ({
      inputs: [input],
      attrs: { dim },
      reference: alongDim(([row], place) => product(row!.slice(0, place + 1))),
    })),
  ),
  cumprodGrad: [0, 1, 2].map((dim) => ({
    inputs: [float(3, 4, 5), float(3, 4, 5)],
    attrs: { dim },
    reference: cumprodGradient,
  })),
};
