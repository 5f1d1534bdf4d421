import {
  type RandomSource,
  type RandomState,
  withRandomSource,
} from '../../../runtime/random/seed.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import type { ProgramNumbers } from './sizes.ts';

/** A place from which numbers are counted: its seed and its offset. */
export type StreamOrigin = readonly [seed: NumberExpr, offset: NumberExpr];

/** Where the stream stands when a run begins. */
export const runBegins: StreamOrigin = [
  { kind: 'source', source: { kind: 'random', field: 'seed' } },
  { kind: 'source', source: { kind: 'random', field: 'offset' } },
];

/**
 * A place in the stream as attributes of an op: so many numbers behind the origin. They are symbolic, and go wherever
 * numbers go.
 */
export function placeBehind(
  numbers: ProgramNumbers,
  origin: StreamOrigin,
  drawn: number,
): RandomState {
  const [seed, start] = withRandomSource(null, () => origin.map((expr) => numbers.attribute(expr)));
  const offset =
    typeof start === 'number' ? start + drawn : numbers.scalars.apply('+', [start!, drawn]);
  return { seed, offset } as unknown as RandomState;
}

/** The stream while a trace is played for other sizes: an element takes one number, so places are others. */
export class CountedStream implements RandomSource {
  readonly #numbers: ProgramNumbers;
  readonly #drawnAt = new WeakMap<RandomState, number>();
  #drawn = 0;
  /** The furthest place so far: where the stream stands after a run. */
  count = 0;

  constructor(numbers: ProgramNumbers) {
    this.#numbers = numbers;
  }

  take(count: number): RandomState {
    const place = this.state();
    this.#moveTo(this.#drawn + count);
    return place;
  }

  state(): RandomState {
    const state = placeBehind(this.#numbers, runBegins, this.#drawn);
    this.#drawnAt.set(state, this.#drawn);
    return state;
  }

  goTo(state: RandomState): void {
    this.#moveTo(this.#drawnAt.get(state)!);
  }

  #moveTo(drawn: number): void {
    this.#drawn = drawn;
    this.count = Math.max(this.count, drawn);
  }
}
