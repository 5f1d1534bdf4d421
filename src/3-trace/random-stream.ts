import {
  type RandomSource,
  type RandomState,
  withRandomSource,
} from '../../runtime/random/seed.ts';
import type { Source } from '../guards/source.ts';
import type { Tracer } from './tracer.ts';

const seedSource: Source = { kind: 'random', field: 'seed' };
const offsetSource: Source = { kind: 'random', field: 'offset' };

/**
 * The stream of random numbers as a program sees it: places count from where the stream stands when a
 * run begins. So every run draws other numbers, those that eager execution would draw; what backward
 * computes again draws the same ones, since both programs of a run share its scalar inputs.
 */
export class RelativeStream implements RandomSource {
  readonly #tracer: Tracer;
  /** Numbers drawn so far. */
  #drawn = 0;
  /** The furthest place so far: where the stream stands after a run. */
  count = 0;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  get drawn(): number {
    return this.#drawn;
  }

  take(count: number): RandomState {
    const place = this.state();
    this.#moveTo(this.#drawn + count);
    return place;
  }

  state(): RandomState {
    const { numbers } = this.#tracer;
    const [seed, start] = withRandomSource(null, () =>
      [seedSource, offsetSource].map((source) => numbers.attribute({ kind: 'source', source })),
    );
    const offset = numbers.scalars.apply('+', [start!, this.#drawn]);
    // Symbolic numbers go wherever numbers go.
    const state = { seed, offset } as unknown as RandomState;
    places.set(state, this.#drawn);
    return state;
  }

  goTo(state: RandomState): void {
    this.#moveTo(places.get(state)!);
  }

  #moveTo(place: number): void {
    const [drawn, { count }] = [this.#drawn, this];
    this.#tracer.journal.note(() => {
      this.#drawn = drawn;
      this.count = count;
    });
    this.#drawn = place;
    this.count = Math.max(count, place);
  }
}

const places = new WeakMap<RandomState, number>();
