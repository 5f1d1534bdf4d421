import type { CheckError } from '../../runtime/errors/errors.ts';
import { type Reading, readLater } from './reading.ts';
import { runIsolated } from './run-isolated.ts';

/** Counters of check mode for one captured function. */
export class CheckCounter {
  /** How many runs of each subgraph are checked; 0 for none. */
  readonly limit: number;
  /** The number of checked runs, and of checked backwards. */
  runs = 0;
  backwards = 0;
  /** Comparisons on devices that are read asynchronously, one after another. */
  #pending: Promise<void> = Promise.resolve();
  #found: CheckError | null = null;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Compares once the device has been read; `throwFound` throws a difference. */
  checkLater(work: Reading<CheckError | null>): null {
    this.#pending = this.#pending.then(async () => {
      try {
        const found = await readLater(work, runIsolated);
        this.#found ??= found;
      } catch (error) {
        // An error in the comparison itself is reported, too.
        this.#found ??= error as CheckError;
      }
    });
    return null;
  }

  /** Records the first of several differences for `throwFound`. */
  throwLater(found: CheckError): void {
    this.#found ??= found;
  }

  /** Throws a difference found since the last call, once. */
  throwFound(): void {
    const found = this.#found;
    if (!found) return;
    this.#found = null;
    throw found;
  }

  /** Resolves when everything is compared; rejects with the difference found. */
  async settled(): Promise<void> {
    await this.#pending;
    this.throwFound();
  }
}

/** For functions without checks. */
export const noChecks = new CheckCounter(0);
