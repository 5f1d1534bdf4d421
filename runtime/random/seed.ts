import { ArgumentError } from '../errors/errors.ts';
import { expectArguments, shown } from '../options/expect-options.ts';
import { anyInteger, anyNumber } from '../options/option-kinds.ts';
import type { DType } from '../spec/dtype.ts';
import { type Shape, sizeOf } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';

let currentSeed = 0;
let offset = 0;

/** Replaces the global stream that random ops draw from. */
export interface RandomSource {
  /** Returns the position of the next `count` numbers. */
  take(count: number): RandomState;
  state(): RandomState;
  goTo(state: RandomState): void;
}

let source: RandomSource | null = null;

/** Runs `body` with stream positions from `next`: in a program, they are relative to the run. */
export function withRandomSource<T>(next: RandomSource | null, body: () => T): T {
  const outer = source;
  source = next;
  try {
    return body();
  } finally {
    source = outer;
  }
}

/** Skips numbers that a program has drawn. */
export function skipNumbers(count: number): void {
  offset += count;
}

/** Sets the seed. Random numbers depend only on (seed, offset), so a seed gives the same numbers on every device. */
export function seed(value: number): void {
  if (!Number.isFinite(value)) {
    throw new ArgumentError({
      what: 'seed: not a number',
      given: shown(value),
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

/** A stream position known only to the program, replacing the offset of a random op being appended. */
export class PlacedOffset {
  /** The seed, followed by numbers whose sum is the position. */
  readonly numbers: readonly Tensor[];
  /** The count of numbers drawn since that position. */
  readonly drawn: number;

  constructor(numbers: readonly Tensor[], drawn: number) {
    this.numbers = numbers;
    this.drawn = drawn;
  }
}

/** Returns the position in the random stream. */
export function randomState(): RandomState {
  return source ? source.state() : { seed: currentSeed, offset };
}

const stateKinds = { seed: anyNumber, offset: anyInteger };

/** Continues the random stream from a saved position. */
export function setRandomState(state: RandomState): void {
  expectArguments('setRandomState', { ...state }, stateKinds);
  if (source) {
    source.goTo(state);
    return;
  }
  currentSeed = state.seed;
  offset = state.offset;
}

/** Returns the attributes of the next random op; an element draws one number of the stream, a float64 two. */
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
