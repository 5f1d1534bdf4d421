import { bytesOf } from '../../../runtime/program/value-bytes.ts';
import type { Candidate, Cost } from './choice.ts';
import { Evictions } from './evictions.ts';
import type { ForwardFacts } from './forward-facts.ts';
import { KeptChoices } from './kept-choices.ts';
import type { MemoryUses } from './memory-uses.ts';
import { SimilarChoices } from './similar-choices.ts';
import { WorkBound } from './work-bound.ts';

/** Reordering a program's ops may reduce its bytes by this factor, compared with a single walk. */
const reordered = 1.1;
/** The relative error of summed arithmetic. */
const slight = 1e-9;
/** Candidates by segments recompute at least this share of forward's arithmetic. */
const leastOfSegments = 0.5;
/**
 * If no candidate fits, those within this factor of the fewest bytes are planned, since planning may rank them
 * differently.
 */
const nearFloor = 1.05;
/**
 * The number of these candidates to plan: the ones with the least arithmetic and the ones with the fewest bytes, by
 * program size.
 */
const floors = [
  { ops: 1500, cheap: 8, low: 4 },
  { ops: 4000, cheap: 3, low: 2 },
  { ops: Number.POSITIVE_INFINITY, cheap: 0, low: 2 },
] as const;

/**
 * The candidates for recomputing part of forward, independent of the budget: evictions, choices of kept values, and
 * choices by segments that recompute at least half of forward's arithmetic. Larger budgets have all candidates of
 * smaller ones.
 */
export class Candidates {
  readonly #size: number;
  readonly #leastOfSegments: number;
  readonly #evictions: Evictions;
  readonly #kept: KeptChoices;
  readonly #bound: WorkBound;
  /** The measured memory that is live besides the values that the ops compute. */
  readonly #beside: number;
  /** A lower bound of any candidate's measured bytes. */
  readonly #least: number;
  #cheapest: readonly Candidate[] | undefined;
  #similar: SimilarChoices | undefined;
  #inSegments: readonly Candidate[] | undefined;

  /** `below`: the arithmetic that all candidates stay below, at any number of bytes. */
  constructor(
    facts: ForwardFacts,
    uses: MemoryUses,
    costOf: Cost,
    bound = new WorkBound(facts),
    below = Number.POSITIVE_INFINITY,
  ) {
    this.#size = facts.program.ops.length;
    this.#leastOfSegments = leastOfSegments * facts.forwardWork;
    this.#evictions = new Evictions(uses, costOf, below);
    this.#kept = new KeptChoices(facts, costOf);
    const { program } = facts;
    const donated = uses.donated.reduce((sum, id) => sum + bytesOf(program.values, id), 0);
    this.#bound = bound;
    this.#beside = costOf({ ...program, ops: [] }) - donated;
    this.#least = this.#beside + uses.atLeast;
  }

  /**
   * Yields candidates that need at most `bytes`, by the given measure, and less than `below` arithmetic, cheapest
   * first.
   */
  *within(bytes: number, below: number): Generator<Candidate> {
    // Choices by segments omit candidates that these include.
    this.#cheapest ??= this.#kept.cheapest();
    this.#similar ??= new SimilarChoices(this.#cheapest, this.#size);
    const similar = this.#similar;
    if (bytes < this.#least) return;
    // Candidates with less arithmetic surely need more bytes.
    const enough = (1 - slight) * this.#bound.least(bytes - this.#beside, below);
    if (enough >= below) return;
    const evictions = this.#evictions;
    const limit = (bytes - evictions.above) * reordered;
    let level = limit > 0 ? Math.max(1, Math.ceil(evictions.levelOf(limit))) : evictions.count;
    let hasMuch = false;
    const queue: Candidate[] = [];
    const known = new Set<Candidate>();
    const add = (more: readonly Candidate[]): void => {
      queue.push(...more.filter((each) => !known.has(each)));
      queue.sort(byWork);
      for (const each of more) known.add(each);
    };
    add(this.#cheapest);
    for (;;) {
      const least = queue[0]?.work ?? Number.POSITIVE_INFINITY;
      const most = Math.min(least, below);
      if (level < evictions.count && evictions.leastWorkAt(level) < most) {
        add(evictions.at(level++));
      } else if (!hasMuch && this.#leastOfSegments < most) {
        add(this.#takingMuch());
        hasMuch = true;
      } else if (least < below) {
        const next = queue.shift()!;
        if (next.work < enough || !similar.mayFit(next, bytes, this.#beside)) continue;
        if (next.bytes <= bytes) yield next;
      } else return;
    }
  }

  /**
   * Returns the candidates with the fewest bytes by the given measure, only the cheapest of those with equal bytes;
   * cheapest first.
   */
  floor(): readonly Candidate[] {
    const all = [...this.#takingMuch(), ...this.#evictions.lowest()];
    const byBytes = new Map<number, Candidate>();
    for (const each of all.sort((a, b) => a.bytes - b.bytes || a.work - b.work)) {
      if (!byBytes.has(each.bytes)) byBytes.set(each.bytes, each);
    }
    const lowest = [...byBytes.values()];
    const near = lowest.filter(({ bytes }) => bytes <= nearFloor * lowest[0]!.bytes).sort(byWork);
    const { cheap, low } = floors.find(({ ops }) => this.#size <= ops)!;
    return [...new Set([...near.slice(0, cheap), ...lowest.slice(0, low)])].sort(byWork);
  }

  #takingMuch(): readonly Candidate[] {
    if (!this.#inSegments) {
      const all = this.#kept.inSegments();
      this.#inSegments = all.filter(({ work }) => work >= this.#leastOfSegments);
    }
    return this.#inSegments;
  }
}

const byWork = (a: Candidate, b: Candidate) => a.work - b.work;
