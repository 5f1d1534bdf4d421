import type { Program, ValueId } from '../../../runtime/program/program.ts';
import { checkpoints } from './checkpoints.ts';
import { computeAgain, type Recomputed } from './compute-again.ts';
import type { ForwardFacts } from './forward-facts.ts';

export interface Choice extends Recomputed {
  /** What the program needs by the measure that was given. */
  readonly bytes: number;
}

/** Bytes of a program, by a measure that is cheap enough to be asked some dozen times. */
export type Cost = (program: Program) => number;

const segmentCounts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
/** Shares of the values, most expensive first, that stay where a program isn't cut into segments. */
const shares = [0.25, 0.5, 0.65, 0.8, 0.9, 0.95];
/** Of the ways to cut that fit, this many are refined, in this many steps. */
const refined = 4;
const halvings = 5;

/**
 * Finds what of forward backward should compute again. Two kinds of choices are combined. Of forward as segments
 * only what crosses between them stays, which bounds what is alive while one of them is made again; and of all
 * values, those stay longest that cost most arithmetic per byte.
 */
export class RecomputeSearch {
  readonly #facts: ForwardFacts;
  readonly #costOf: Cost;
  /** What stays at least, per number of segments. */
  readonly #bases: readonly ReadonlySet<ValueId>[];
  /** Values that could stay, in the order in which they are worth it. */
  readonly #values: readonly ValueId[];
  readonly #tried = new Map<string, Choice>();

  constructor(facts: ForwardFacts, costOf: Cost) {
    this.#facts = facts;
    this.#costOf = costOf;
    this.#bases = segmentCounts
      .filter((count) => count === 1 || count * 2 <= facts.forward.length)
      .map((count) => checkpoints(facts, count));
    const density = (id: ValueId) => facts.workOf(id) / Math.max(1, facts.bytesOf(id));
    this.#values = facts.forward
      .flatMap((index) => facts.program.ops[index]!.outputs)
      .filter((id) => facts.canBeMadeAgain(id) && facts.isReadByBackward(id))
      .sort((a, b) => density(b) - density(a));
  }

  /** The cheapest choice within the budget, of those that were tried; where none is, the one that needs least. */
  within(budget: number): Choice {
    const coarse = [
      ...this.#bases.map((_, base) => ({ base, choice: this.#try(base, 0) })),
      ...shares.map((share) => ({ base: 0, choice: this.#try(0, share) })),
    ];
    const fitting = coarse.filter(({ choice }) => choice.bytes <= budget);
    fitting.sort((a, b) => a.choice.work - b.choice.work);
    const bases = new Set(fitting.slice(0, refined).map(({ base }) => base));
    for (const base of bases) this.#refine(base, budget);
    return this.#best(budget);
  }

  /** `share`: of the values, how many stay beside the base. */
  #try(base: number, share: number): Choice {
    const count = Math.round(share * this.#values.length);
    const key = `${base} ${count}`;
    const known = this.#tried.get(key);
    if (known) return known;
    const stays = new Set([...this.#bases[base]!, ...this.#values.slice(0, count)]);
    const recomputed = computeAgain(this.#facts, stays);
    const choice = { ...recomputed, bytes: this.#costOf(recomputed.program) };
    this.#tried.set(key, choice);
    return choice;
  }

  /** Lets as much stay as the budget allows. */
  #refine(base: number, budget: number): void {
    let [fits, exceeds] = [0, 1];
    for (let i = 0; i < halvings; i++) {
      const share = (fits + exceeds) / 2;
      if (this.#try(base, share).bytes <= budget) fits = share;
      else exceeds = share;
    }
  }

  #best(budget: number): Choice {
    const tried = [...this.#tried.values()];
    const fitting = tried.filter(({ bytes }) => bytes <= budget);
    const by = (key: 'work' | 'bytes') => (a: Choice, b: Choice) => (b[key] < a[key] ? b : a);
    return fitting.length > 0 ? fitting.reduce(by('work')) : tried.reduce(by('bytes'));
  }
}
