import { events } from '../../runtime/memory/events.ts';
import type { AnyFunction } from '../1-capture/script/route.ts';
import type { CaptureSettings } from '../options/capture-settings.ts';
import type { ToStaticOptions } from '../options/static-options.ts';

/**
 * Rough milliseconds for compiling a function, and for each kernel that an eager call of it launches, as measured for
 * training steps of 50 to 1,000 kernels.
 */
const [msPerFunction, msPerKernel] = [100, 0.5];

/** The share of the time of its eager calls that compiling a function may take. */
const share = 0.1;

/**
 * The calls of a function with `compile: 'hot'` that run eagerly. At any time, compiling has cost at most a tenth of
 * the calls' time.
 */
export class ColdCalls {
  #milliseconds = 0;
  /** The most kernels that one call has launched. */
  #kernels = 0;

  /** Whether compiling the function is cheap, compared with its calls so far. */
  get areEnough(): boolean {
    return this.#milliseconds * share >= msPerFunction + msPerKernel * this.#kernels;
  }

  /** Runs a call; returns its result or throws its error. */
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

/** Returns the eager calls of a function with `compile: 'hot'`; null for a function that compiles immediately. */
export function coldCallsOf(
  fn: AnyFunction,
  { compile }: ToStaticOptions,
  settings: CaptureSettings,
): ColdCalls | null {
  return compile === 'hot' && returnsAtEnd(fn) && !keepsBudget(settings) ? new ColdCalls() : null;
}

/** Whether every call must keep a budget or throw: an eager call plans no memory. */
export function keepsBudget({ memory, fallback }: CaptureSettings): boolean {
  return memory.budget !== null && fallback === 'error';
}

/** Whether a call has finished when it returns: async functions and generators continue later. */
function returnsAtEnd(fn: AnyFunction): boolean {
  return Object.getPrototypeOf(fn) === Function.prototype;
}
