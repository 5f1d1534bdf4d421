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
/** So far from the best policy its neighbours are. */
const [nearLimit, nearPatience] = [0.03, 10];
/** Numbers that fall evenly between 0 and 1, however many are taken, for two dimensions. */
const steps = [0.7548776662466927, 0.5698402909980532] as const;

/**
 * Finds policies by which values are evicted within a budget: of many that are spread over all, and of neighbours of
 * the best, the one with the least arithmetic.
 */
export class EvictionSearch {
  readonly #uses: MemoryUses;
  readonly #costOf: Cost;
  /** Bytes by which the measure of programs is above that of a walk. */
  readonly #above: number;
  /** Those found for other budgets: one of them may be better for this one. */
  readonly #found: Eviction[] = [];
  /** Policies tried so far. */
  #tried = 0;

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
    let best: Eviction | null = null;
    for (const each of this.#found) {
      if ((!best || each.work < best.work) && each.fits(budget)) best = each;
    }
    for (let i = 0; i < count; i++) {
      const policy: EvictionPolicy =
        best && i >= count / 2 ? this.#near(best.policy, limit) : this.#anywhere(limit);
      const found = recomputeEvicted(this.#uses, policy);
      if (!found || found.ops === 0 || (best && found.work >= best.work)) continue;
      const eviction = new Eviction(found, policy, this.#costOf);
      this.#found.push(eviction);
      if (eviction.fits(budget)) best = eviction;
    }
    return best;
  }

  #anywhere(limit: number): EvictionPolicy {
    const [x, y] = this.#place();
    return {
      bytes: Math.floor(limit * (lowest + x * (highest - lowest))),
      patience: Math.round(100 * y),
      seeds: [this.#tried],
    };
  }

  #near({ bytes, patience, seeds }: EvictionPolicy, limit: number): EvictionPolicy {
    const [x, y] = this.#place();
    return {
      bytes: Math.floor(bytes + limit * nearLimit * (2 * x - 1)),
      patience: Math.max(0, Math.round(patience + nearPatience * (2 * y - 1))),
      seeds: [...seeds, this.#tried],
    };
  }

  #place(): readonly [number, number] {
    this.#tried++;
    const [x, y] = steps.map((step) => (this.#tried * step) % 1);
    return [x!, y!];
  }
}
