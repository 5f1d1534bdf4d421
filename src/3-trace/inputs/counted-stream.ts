import {
  type RandomSource,
  type RandomState,
  withRandomSource,
} from '../../../runtime/random/seed.ts';
import type { Source } from '../../guards/source.ts';
import type { ProgramNumbers } from './sizes.ts';

/** The seed, and where the stream stands when a run begins. */
export const randomSources: readonly Source[] = [
  { kind: 'random', field: 'seed' },
  { kind: 'random', field: 'offset' },
];

/**
 * A place in the stream as attributes of an op: so many numbers behind the one at which a run begins. They are
 * symbolic, and go wherever numbers go.
 */
export function placeBehindStart(numbers: ProgramNumbers, drawn: number): RandomState {
  const [seed, start] = withRandomSource(null, () =>
    randomSources.map((source) => numbers.attribute({ kind: 'source', source })),
  );
  const offset = numbers.scalars.apply('+', [start!, drawn]);
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
    const state = placeBehindStart(this.#numbers, this.#drawn);
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
