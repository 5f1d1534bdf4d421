import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { RecentlyUsed } from '../../runtime/program/recently-used.ts';

/** This many sets of sizes are compiled when they first occur. */
const compiledAtOnce = 256;

/** This many of them if two sizes vary independently, and new combinations are more frequent than recurring ones. */
const combinationsAtOnce = 16;

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
 * Distinguishes recurring sizes from sizes that occur once, like the lengths of an ever-growing cache, or the nodes and
 * edges of each graph of a training set. Compiling a program takes as long as many eager calls, so sizes that don't
 * recur run eagerly.
 */
export class RecurringSizes<K extends string | number> {
  readonly #visits = new RecentlyUsed<K, Visits>(mostRemembered);
  readonly #combinations = new Combinations();
  #compiled = 0;
  #recurred = 0;

  /** Counts a call whose sizes have a program, but differ from those of the call before. */
  recur(): void {
    this.#recurred++;
  }

  /** Counts a call with sizes that have no program; returns true once they are worth compiling. */
  isWorthCompiling(key: K, sizes: readonly unknown[]): boolean {
    if (this.#compiled < this.#atOnce(sizes)) {
      this.#compiled++;
      return true;
    }
    const visits = this.#visits.get(key, () => ({ count: 0, needed: visitsNeeded }));
    if (++visits.count < visits.needed) return false;
    visits.count = 0;
    visits.needed = visitsNeededAgain;
    return true;
  }

  #atOnce(sizes: readonly unknown[]): number {
    if (this.#compiled < compiledAtOnce) this.#combinations.add(sizes);
    const isUnlikelyToRecur = this.#combinations.areFree && this.#recurred < this.#compiled;
    return isUnlikelyToRecur ? combinationsAtOnce : compiledAtOnce;
  }
}

/** Tells whether two sizes vary independently: each has had several values while the other one had the same. */
class Combinations {
  areFree = false;
  /** For each size, a set of sizes with each of its values. */
  readonly #seen = new Map<number, Map<unknown, readonly unknown[]>>();
  /** Pairs `i, j`: size j had two values while size i had one. */
  readonly #varied = new Set<string>();

  add(sizes: readonly unknown[]): void {
    if (this.areFree || sizes.length < 2) return;
    const added = [...sizes];
    for (const [i, value] of added.entries()) {
      const seen = getOrInsert(this.#seen, i, () => new Map<unknown, readonly unknown[]>());
      const earlier = seen.get(value);
      if (!earlier) seen.set(value, added);
      else
        for (const [j, other] of added.entries())
          if (!Object.is(earlier[j], other)) this.#vary(i, j);
    }
  }

  #vary(i: number, j: number): void {
    this.#varied.add(`${i},${j}`);
    if (this.#varied.has(`${j},${i}`)) this.areFree = true;
  }
}
