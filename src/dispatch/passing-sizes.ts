import { RecentlyUsed } from '../../runtime/program/recently-used.ts';

/** So many sets of sizes are compiled when they come for the first time. */
const compiledAtOnce = 256;

/** From then on a set of sizes is compiled when it comes for this time. */
const visitsWanted = 2;

/** The number of visits after which a set of sizes is compiled again that took too much memory to be kept. */
const visitsWantedAgain = 16;

/** So many sets of sizes are remembered. */
const mostRemembered = 4096;

interface Visits {
  count: number;
  wanted: number;
}

/**
 * Tells sizes that return from those that pass once, as the lengths of a cache that grows without an end do. To
 * compile a program takes as long as many eager calls, so sizes that pass are left to eager execution.
 */
export class PassingSizes<K extends string | number> {
  readonly #visits = new RecentlyUsed<K, Visits>(mostRemembered);
  #compiled = 0;

  /** Counts a call with sizes for which there is no program; true when they are worth one. */
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
