import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { full } from '../../../runtime/ops/movement/create.ts';
import { PlacedOffset, type RandomSource, type RandomState } from '../../../runtime/random/seed.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** Thrown if a call unexpectedly draws random numbers. */
export class DrawsNumbers extends Error {
  override readonly name = 'DrawsNumbers';
}

const notCounted = (): never => {
  throw new DrawsNumbers();
};

export const drawsNothing: RandomSource = { take: notCounted, state: notCounted, goTo: notCounted };

/**
 * The random stream inside a call, which starts at the program's position before the call. The count of drawn numbers
 * follows from the run's shapes; the call returns it to the surrounding program as a result.
 */
export class CallStream implements RandomSource {
  readonly #start: PlacedOffset;
  readonly #drawnAt = new WeakMap<RandomState, number>();
  #drawn = 0;
  #furthest = 0;

  constructor(start: PlacedOffset) {
    this.#start = start;
  }

  take(count: number): RandomState {
    const position = this.state();
    this.#drawn += count;
    this.#furthest = Math.max(this.#furthest, this.#drawn);
    return position;
  }

  state(): RandomState {
    const { numbers, drawn } = this.#start;
    const offset = new PlacedOffset(numbers, drawn + this.#drawn);
    const state = { seed: 0, offset } as unknown as RandomState;
    this.#drawnAt.set(state, this.#drawn);
    return state;
  }

  goTo(state: RandomState): void {
    this.#drawn = this.#drawnAt.get(state)!;
  }

  /** Returns the count of drawn numbers as a value of the call's program. */
  count(): Tensor {
    return noGrad(() => full([], this.#furthest, { dtype: 'float64' }));
  }
}
