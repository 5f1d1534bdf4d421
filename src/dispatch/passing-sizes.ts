import { RecentlyUsed } from '../../runtime/program/recently-used.ts';

/** This many sets of sizes are compiled when they first occur. */
const compiledAtOnce = 256;

/** Later sets of sizes are compiled at this visit. */
const visitsWanted = 2;

/** The visit at which a set of sizes is compiled again whose program was dropped to save memory. */
const visitsWantedAgain = 16;

/** The most sets of sizes to remember. */
const mostRemembered = 4096;

interface Visits {
  count: number;
  wanted: number;
}

/**
 * Tells recurring sizes from sizes that occur once, like the lengths of an ever-growing cache. Compiling a program
 * takes as long as many eager calls, so sizes that don't recur run eagerly.
 */
export class PassingSizes<K extends string | number> {
  readonly #visits = new RecentlyUsed<K, Visits>(mostRemembered);
  #compiled = 0;

  /** Counts a call with sizes that have no program; true once they are worth one. */
  isWorthCompiling(key: K): boolean {
    if (this.#compiled < compiledAtOnce) {
      this.#compiled++;
      return true;
    }
    const visits = this.#visits.get(key, () => ({ count: 0, wanted: visitsWanted }));
    if (++visits.count < visits.wanted) return false;
    visits.count = 0;
    visits.wanted = visitsWantedAgain;
    return true;
  }
}
