import type { CheckError } from '../../runtime/errors/errors.ts';
import { type Reading, readLater } from './reading.ts';
import { runApart } from './run-apart.ts';

/** The counts of check mode for one captured function. */
export class CheckCounter {
  /** How many runs of each subgraph are checked; 0: none. */
  readonly wanted: number;
  /** Runs that were checked, and backwards. */
  runs = 0;
  backwards = 0;
  /** Comparisons on devices that are read asynchronously, one after the other. */
  #pending: Promise<void> = Promise.resolve();
  #found: CheckError | null = null;

  constructor(wanted: number) {
    this.wanted = wanted;
  }

  /** Compares as soon as the device has been read; a difference is thrown by `throwFound`. */
  checkLater(work: Reading<CheckError | null>): null {
    this.#pending = this.#pending.then(async () => {
      try {
        const found = await readLater(work, runApart);
        this.#found ??= found;
      } catch (error) {
        // The comparison itself has failed: that is found, too.
        this.#found ??= error as CheckError;
      }
    });
    return null;
  }

  /** A difference that was found since, thrown once. */
  throwFound(): void {
    const found = this.#found;
    if (!found) return;
    this.#found = null;
    throw found;
  }

  /** Resolves when everything is compared; rejects with what was found. */
  async settled(): Promise<void> {
    await this.#pending;
    this.throwFound();
  }
}

/** Checks are off. */
export const noChecks = new CheckCounter(0);
