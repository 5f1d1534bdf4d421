import { Candidate, type Cost, mostWork } from './choice.ts';
import { type EvictionCost, walkEvicting } from './eviction-walk.ts';
import { type MemoryUses, never } from './memory-uses.ts';
import type { EvictionPolicy } from './pressure.ts';
import { recomputeEvicted } from './recompute-evicted.ts';

/**
 * By program size: the ratio between limits of consecutive walks, and the number of policies tried at each; for the
 * fewest bytes, the stride between limits, and the largest multiple of the lowest one.
 */
const grids = [
  { ops: 1500, ratio: 1.01, policies: 4, lowStride: 3, lowRange: 4 },
  { ops: 4000, ratio: 1.02, policies: 2, lowStride: 8, lowRange: 2 },
  { ops: Number.POSITIVE_INFINITY, ratio: 1.03, policies: 1, lowStride: 8, lowRange: 2 },
] as const;

/** A lower limit, by up to this factor, that takes less arithmetic is a coincidence, and ignored. */
const luck = 1.15;
/** The fractional parts of its multiples are evenly distributed between 0 and 1, for any number of multiples. */
const step = 0.7548776662466927;
/** The patience of the first policy at each limit, in percent. */
const usual = 50;

/**
 * All evictions to try in a program, independent of its budget: 1 to 4 policies at each limit of a fixed grid. A budget
 * uses the cheapest that fits, so more bytes never cost more arithmetic. Limits are walked only if they may help:
 * higher limits bound the arithmetic of lower ones.
 */
export class Evictions {
  readonly #uses: MemoryUses;
  readonly #costOf: Cost;
  readonly #ratio: number;
  readonly #policies: number;
  readonly #lowStride: number;
  readonly #lowRange: number;
  /** The distance between limits whose arithmetic bounds that of lower ones. */
  readonly #stride: number;
  /** Bytes of the walk without evictions. */
  readonly #top: number;
  /** The bytes by which the measure of programs exceeds that of a walk. */
  readonly above: number;
  /** The number of limits: below the last one, the operands of some op don't fit. */
  readonly count: number;
  readonly #levels = new Map<number, readonly Candidate[]>();
  /** Many policies lead to the same program. */
  readonly #known = new Map<string, Candidate>();
  /** The arithmetic at each bounding limit and all higher ones. */
  readonly #bounds: number[] = [0];
  /** Walks by the first policy at bounding limits, which are candidates as well. */
  readonly #bounding = new Map<number, EvictionCost | null>();
  /** Walks end at this arithmetic. */
  readonly #enough: number;

  /** Candidates recompute less than `below` arithmetic. */
  constructor(uses: MemoryUses, costOf: Cost, below = never) {
    this.#enough = Math.min(below, mostWork * uses.facts.forwardWork);
    this.#uses = uses;
    this.#costOf = costOf;
    const { program } = uses.facts;
    const grid = grids.find(({ ops }) => program.ops.length <= ops)!;
    this.#ratio = grid.ratio;
    this.#policies = grid.policies;
    this.#lowStride = grid.lowStride;
    this.#lowRange = grid.lowRange;
    this.#stride = Math.ceil(Math.log(luck) / Math.log(grid.ratio));
    this.#top = walkEvicting(uses, { bytes: never, patience: 0, seeds: [] })!.peak;
    this.above = costOf(program) - this.#top;
    this.count = Math.max(0, Math.ceil(this.levelOf(Math.max(1, uses.mostOfAnOp))));
  }

  /** The level of a limit in the grid. */
  levelOf(bytes: number): number {
    return Math.log(this.#top / bytes) / Math.log(this.#ratio);
  }

  /** The least arithmetic of any candidate at this limit or a lower one; `never` if there is none. */
  leastWorkAt(level: number): number {
    const bound = Math.max(0, Math.floor(level / this.#stride) - 1);
    while (this.#bounds.length <= bound) {
      // Walks that find nothing take longest.
      if (this.#bounds.at(-1) === never) return never;
      const level = this.#bounds.length * this.#stride;
      const walk = this.#walk(this.#policy(level, 0));
      this.#bounding.set(level, walk);
      this.#bounds.push(Math.max(this.#bounds.at(-1)!, walk?.work ?? never));
    }
    return this.#bounds[bound]!;
  }

  /** The candidates at a limit. */
  at(level: number): readonly Candidate[] {
    const known = this.#levels.get(level);
    if (known) return known;
    const least = this.leastWorkAt(level);
    const found: Candidate[] = [];
    for (let number = 0; number < this.#policies && least < never; number++) {
      const policy = this.#policy(level, number);
      const known = number === 0 ? this.#bounding.get(level) : undefined;
      const cost = known === undefined ? this.#walk(policy) : known;
      if (!cost || cost.ops === 0 || cost.work < least) continue;
      found.push(this.#candidate(policy, cost));
    }
    this.#levels.set(level, found);
    return found;
  }

  #candidate(policy: EvictionPolicy, { ops, work, hash }: EvictionCost): Candidate {
    const key = `${ops} ${work} ${hash}`;
    const known = this.#known.get(key);
    if (known) return known;
    const make = () => recomputeEvicted(this.#uses, policy);
    const candidate = new Candidate(policy, work, make, this.#costOf);
    this.#known.set(key, candidate);
    return candidate;
  }

  /** The candidates at the lowest limits that have any. */
  lowest(): readonly Candidate[] {
    // Operands of single ops may leave no room long before the last limit.
    let end = this.count;
    while (end > 1 && this.leastWorkAt(end - 1) === never) end--;
    const range = Math.log(this.#lowRange) / Math.log(this.#ratio);
    const first = Math.max(1, Math.floor(end - range));
    const levels = Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);
    return levels
      .filter((level) => level % this.#lowStride === 0)
      .flatMap((level) => this.at(level));
  }

  #policy(level: number, number: number): EvictionPolicy {
    const bytes = Math.floor(this.#top * this.#ratio ** -level);
    if (number === 0) return { bytes, patience: usual, seeds: [] };
    const seed = level * this.#policies + number;
    return { bytes, patience: Math.round(100 * ((seed * step) % 1)), seeds: [seed] };
  }

  #walk(policy: EvictionPolicy) {
    return walkEvicting(this.#uses, policy, this.#enough);
  }
}
