import { ArgumentError } from '../errors/errors.ts';
import { expectArguments } from '../options/expect-options.ts';
import { anyInteger, anyNumber } from '../options/option-kinds.ts';
import type { DType } from '../spec/dtype.ts';
import { type Shape, sizeOf } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';

let currentSeed = 0;
let offset = 0;

/** Where random ops take their numbers from, when that is not the stream itself. */
export interface RandomSource {
  /** The place of the next `count` numbers. */
  take(count: number): RandomState;
  state(): RandomState;
  goTo(state: RandomState): void;
}

let source: RandomSource | null = null;

/** Inside `body`, places in the stream come from `next`: those of a program are relative to its run. */
export function withRandomSource<T>(next: RandomSource | null, body: () => T): T {
  const outer = source;
  source = next;
  try {
    return body();
  } finally {
    source = outer;
  }
}

/** Passes over numbers that a program has drawn. */
export function skipNumbers(count: number): void {
  offset += count;
}

/** Random numbers depend on (seed, offset) alone: the same seed gives the same numbers on every device. */
export function seed(value: number): void {
  if (!Number.isFinite(value)) {
    throw new ArgumentError({
      what: 'seed: not a number',
      given: typeof value === 'number' ? String(value) : typeof value,
      expected: 'a finite number',
      remedy: 'pass an integer, such as seed(1)',
    });
  }
  currentSeed = value;
  offset = 0;
}

export type RandomState = {
  readonly seed: number;
  readonly offset: number;
};

/**
 * A place in the stream that only a program knows: in place of the offset in the attributes of a random op
 * that is being appended to it.
 */
export class PlacedOffset {
  /** The seed, then numbers that add up to the place. */
  readonly numbers: readonly Tensor[];
  /** Numbers drawn since then. */
  readonly drawn: number;

  constructor(numbers: readonly Tensor[], drawn: number) {
    this.numbers = numbers;
    this.drawn = drawn;
  }
}

/** Where the stream of random numbers stands. */
export function randomState(): RandomState {
  return source ? source.state() : { seed: currentSeed, offset };
}

const stateKinds = { seed: anyNumber, offset: anyInteger };

/** Draws the same numbers again from here. */
export function setRandomState(state: RandomState): void {
  expectArguments('setRandomState', { ...state }, stateKinds);
  if (source) {
    source.goTo(state);
    return;
  }
  currentSeed = state.seed;
  offset = state.offset;
}

/** Attributes for the next random op; an element takes one number of the stream, of float64 two. */
export function nextOffset(
  shape: Shape,
  dtype: DType = 'float32',
): { readonly seed: number; readonly offset: number } {
  const count = sizeOf(shape) * (dtype === 'float64' ? 2 : 1);
  if (source) return source.take(count);
  const attrs = { seed: currentSeed, offset };
  offset += count;
  return attrs;
}
