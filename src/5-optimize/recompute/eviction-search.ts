import { type Cost, Eviction } from './choice.ts';
import { type MemoryUses, never } from './memory-uses.ts';
import type { EvictionPolicy } from './pressure.ts';
import { recomputeEvicted } from './recompute-evicted.ts';

/** Programs of all policies that are tried have about so many ops, as each takes a walk over one. */
const effort = 200_000;
/** At most so many policies are tried for one budget, and at least so many. */
const [most, least] = [48, 4];
/** Limits of a walk, of a budget: with its ops in another order, a program needs less than in the walk, or more. */
const [lowest, highest] = [0.95, 1.2];
/** From one limit to the next. Budgets have limits in common, so that a smaller one doesn't find what a larger one missed. */
const grid = 1.01;
/** So far from the best policy its neighbours are, of its bytes and in percent. */
const [nearBytes, nearPatience] = [0.03, 10];
/** Multiples of these, without their whole part, fall evenly between 0 and 1, however many are taken. */
const [step, otherStep] = [0.7548776662466927, 0.5698402909980532];

/**
 * Finds policies by which values are evicted within a budget: of limits around it, and of neighbours of the best, the one
 * with the least arithmetic.
 */
export class EvictionSearch {
  readonly #uses: MemoryUses;
  readonly #costOf: Cost;
  /** Bytes by which the measure of programs is above that of a walk. */
  readonly #above: number;
  /** The result for each limit, by its place in the grid. */
  readonly #found = new Map<number, Eviction | null>();

  constructor(uses: MemoryUses, costOf: Cost) {
    this.#uses = uses;
    this.#costOf = costOf;
    const all = recomputeEvicted(uses, { bytes: never, patience: 0, seeds: [] })!;
    this.#above = costOf(uses.facts.program) - all.peak;
  }

  /** The cheapest of those that fit the budget; null where none does. */
  within(budget: number): Eviction | null {
    const limit = budget - this.#above;
    if (limit <= 0) return null;
    const { length } = this.#uses.facts.program.ops;
    const count = Math.max(least, Math.min(most, Math.floor(effort / length)));
    const [first, last] = [lowest, highest].map(
      (share) => Math.log(limit * share) / Math.log(grid),
    );
    let stride = 1;
    while ((last! - first!) / stride > count / 2) stride *= 2;
    let best: Eviction | null = null;
    for (let i = Math.ceil(first! / stride); i * stride <= last!; i++) {
      const found = this.#at(i * stride);
      if (found && (!best || found.work < best.work) && found.fits(budget)) best = found;
    }
    for (let i = 1; best && i <= count / 2; i++) {
      const found = this.#by(neighbour(best.policy, i));
      if (found && found.work < best.work && found.fits(budget)) best = found;
    }
    return best;
  }

  #at(place: number): Eviction | null {
    const known = this.#found.get(place);
    if (known !== undefined) return known;
    const patience = Math.round(100 * ((place * step) % 1));
    const found = this.#by({ bytes: Math.floor(grid ** place), patience, seeds: [place] });
    this.#found.set(place, found);
    return found;
  }

  /** Null where nothing is evicted, or too much. */
  #by(policy: EvictionPolicy): Eviction | null {
    const found = recomputeEvicted(this.#uses, policy);
    return found && found.ops > 0 ? new Eviction(found, policy, this.#costOf) : null;
  }
}

function neighbour({ bytes, patience, seeds }: EvictionPolicy, number: number): EvictionPolicy {
  const [x, y] = [(number * step) % 1, (number * otherStep) % 1];
  return {
    bytes: Math.floor(bytes * (1 + nearBytes * (2 * x - 1))),
    patience: Math.max(0, Math.round(patience + nearPatience * (2 * y - 1))),
    seeds: [...seeds, number],
  };
}
