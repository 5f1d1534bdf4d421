/** Plain loops over nested arrays, and what a case of a functional test consists of. */

import type { Tensor } from '../../runtime/index.ts';

export interface FunctionalCase {
  readonly name: string;
  /** Shapes of the inputs that get gradients. */
  readonly shapes: readonly (readonly number[])[];
  readonly run: (...inputs: Tensor[]) => Tensor;
  readonly expected: (...inputs: Nested[]) => unknown;
}

export type Nested = number[] & { shape: readonly number[] };

export const range = (n: number) => Array.from({ length: n }, (_, i) => i);

export const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** Element of a contiguous tensor; `outside` beyond its edges. */
export function at(x: Nested, index: readonly number[], outside = 0): number {
  if (index.some((i, d) => i < 0 || i >= x.shape[d]!)) return outside;
  return x[index.reduce((flat, i, d) => flat * x.shape[d]! + i, 0)]!;
}
