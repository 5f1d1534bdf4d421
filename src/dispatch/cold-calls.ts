import { events } from '../../runtime/memory/events.ts';

/**
 * Rough milliseconds for compiling a function, once, and for each kernel that an eager call of it launches: what
 * training steps of 50 to 1,000 kernels take.
 */
const [msPerFunction, msPerKernel] = [100, 0.5];

/** The part of the time of its eager calls that compiling a function may take. */
const share = 0.1;

/**
 * The calls of a function with `compile: 'hot'` that run eagerly. Whenever the calls end, compiling has cost at most
 * a tenth of their time.
 */
export class ColdCalls {
  #milliseconds = 0;
  /** The most kernels that one call has launched. */
  #kernels = 0;

  /** Whether compiling the function is cheap, compared with its calls so far. */
  get areEnough(): boolean {
    return this.#milliseconds * share >= msPerFunction + msPerKernel * this.#kernels;
  }

  /** Runs a call, and returns or throws what it does. */
  run<T>(call: () => T): T {
    const { kernels } = events;
    const start = performance.now();
    try {
      return call();
    } finally {
      this.#milliseconds += performance.now() - start;
      this.#kernels = Math.max(this.#kernels, events.kernels - kernels);
    }
  }
}
