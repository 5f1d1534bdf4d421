import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/**
 * Returns sizes, given how a program computes them; throws SizesComputed if they are only to be computed. `least`: a
 * lower bound of all of them.
 */
export type SizeSource = (compute: () => readonly Tensor[], least: number) => readonly number[];

/** Ends a call whose sizes have been computed. */
export class SizesComputed extends Error {
  override readonly name = 'SizesComputed';
}

let current: SizeSource | null = null;

export function withSizeSource<T>(source: SizeSource, body: () => T): T {
  const outer = current;
  current = source;
  try {
    return body();
  } finally {
    current = outer;
  }
}

/** Returns the sizes that `compute` returns as float64 scalars: numbers that the program read from them. */
export function sizesFrom(compute: () => readonly Tensor[], least = 0): readonly number[] {
  invariant(current, 'sizes are read in a call that computes them');
  return current(compute, least);
}

/** Returns a single size, which is at least `least`. */
export function sizeFrom(compute: () => Tensor, least = 0): number {
  return sizesFrom(() => [compute()], least)[0]!;
}
