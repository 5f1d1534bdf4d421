import { RecentlyUsed } from '../../runtime/program/recently-used.ts';

/** This many sets of sizes are compiled when they first occur. */
const compiledAtOnce = 256;

/** Later sets of sizes are compiled at this visit. */
const visitsNeeded = 2;

/** The visit at which a set of sizes whose program was evicted is compiled again. */
const visitsNeededAgain = 16;

/** The most sets of sizes to remember. */
const mostRemembered = 4096;

interface Visits {
  count: number;
  needed: number;
}

/**
 * Distinguishes recurring sizes from sizes that occur once, like the lengths of an ever-growing cache. Compiling a
 * program takes as long as many eager calls, so sizes that don't recur run eagerly.
 */
export class RecurringSizes<K extends string | number> {
  readonly #visits = new RecentlyUsed<K, Visits>(mostRemembered);
  #compiled = 0;

  /** Counts a call with sizes that have no program; returns true once they are worth compiling. */
  isWorthCompiling(key: K): boolean {
    if (this.#compiled < compiledAtOnce) {
      this.#compiled++;
      return true;
    }
    const visits = this.#visits.get(key, () => ({ count: 0, needed: visitsNeeded }));
    if (++visits.count < visits.needed) return false;
    visits.count = 0;
    visits.needed = visitsNeededAgain;
    return true;
  }
}
