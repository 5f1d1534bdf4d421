import type { DType } from '../tensor/dtype.ts';
import { type Shape, sizeOf } from '../tensor/shape.ts';

let currentSeed = 0;
let offset = 0;

/** Random numbers depend on (seed, offset) alone: the same seed gives the same numbers on every device. */
export function seed(value: number): void {
  currentSeed = value;
  offset = 0;
}

export interface RandomState {
  readonly seed: number;
  readonly offset: number;
}

/** Where the stream of random numbers stands. */
export function randomState(): RandomState {
  return { seed: currentSeed, offset };
}

/** Draws the same numbers again from here. */
export function setRandomState(state: RandomState): void {
  currentSeed = state.seed;
  offset = state.offset;
}

/** Attributes for the next random op; an element takes one number of the stream, of float64 two. */
export function nextOffset(
  shape: Shape,
  dtype: DType = 'float32',
): { readonly seed: number; readonly offset: number } {
  const attrs = { seed: currentSeed, offset };
  offset += sizeOf(shape) * (dtype === 'float64' ? 2 : 1);
  return attrs;
}
