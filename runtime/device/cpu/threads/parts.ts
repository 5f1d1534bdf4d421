import type { Kernel } from '../wasm/assembler/module-builder.ts';
import { mostParts } from './control.ts';
import { pool } from './pool.ts';

/**
 * The parts of a job. Callers write their arguments where threads read them. A kernel's launches share one object, so
 * that they allocate nothing.
 */
export class Parts {
  readonly #kernel: Kernel;
  readonly #arity: number;
  readonly #most: number;
  #count = 0;

  constructor(kernel: Kernel, arity: number, most = mostParts) {
    this.#kernel = kernel;
    this.#arity = arity;
    this.#most = most;
  }

  /** Adds a part and returns its number; first runs the existing parts if there is no room for another. */
  next(): number {
    if (this.#count === this.#most) this.run();
    return this.#count++;
  }

  /** Adds a part and returns the index in `pool.numbers` of its first argument. */
  nextAt(): number {
    return this.next() * this.#arity;
  }

  /** Calls the kernel, or adds a part, with these arguments. Doesn't retain the list. */
  call(args: readonly number[], isShared: boolean): void {
    if (isShared) pool.numbers.set(args, this.nextAt());
    else this.#kernel(...args);
  }

  /**
   * Runs and removes the parts, if any. Removes them even if running fails, so that the next launch doesn't run them
   * again.
   */
  run(): void {
    const count = this.#count;
    this.#count = 0;
    if (count > 0) pool.run(this.#kernel, count, this.#arity);
  }
}
