import {
  type RandomSource,
  type RandomState,
  withRandomSource,
} from '../../../runtime/random/seed.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import type { ProgramNumbers } from './sizes.ts';

/** The origin of relative stream positions: a seed and an offset. */
export type StreamOrigin = readonly [seed: NumberExpr, offset: NumberExpr];

/** The position of the stream when a run begins. */
export const runBegins: StreamOrigin = [
  { kind: 'source', source: { kind: 'random', field: 'seed' } },
  { kind: 'source', source: { kind: 'random', field: 'offset' } },
];

/**
 * Returns the position `drawn` numbers after the origin. Its fields are symbolic, so they can be attributes of an op.
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

/**
 * The random stream while a trace is replayed for other sizes: each element draws one number, so positions depend
 * on sizes.
 */
export class CountedStream implements RandomSource {
  readonly #numbers: ProgramNumbers;
  readonly #drawnAt = new WeakMap<RandomState, number>();
  #drawn = 0;
  /** The furthest position so far, which is the stream's position after a run. */
  count = 0;

  constructor(numbers: ProgramNumbers) {
    this.#numbers = numbers;
  }

  take(count: number): RandomState {
    const position = this.state();
    this.#moveTo(this.#drawn + count);
    return position;
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
