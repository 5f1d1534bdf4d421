import type { ValueId } from '../../../runtime/program/program.ts';
import { cheapestKept } from './cheapest-kept.ts';
import { checkpoints } from './checkpoints.ts';
import { Choice, type Cost } from './choice.ts';
import type { ForwardFacts } from './forward-facts.ts';
import { recomputeInBackward } from './recompute-in-backward.ts';
import { Trades } from './trades.ts';

const segmentCounts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
/** Bytes that an arithmetic operation is worth: from nearly nothing, where all is made again, to a lot. */
const rates = [0, ...Array.from({ length: 9 }, (_, i) => 4 ** (i - 7))];
/** Between two rates, what only the higher one keeps is added in this many shares. */
const parts = 8;
/** Neighbours of a budget that are explored, too. */
const shares = [1, 1.06, 0.95];
/** Values that this rate would make again are brief: none, the cheapest, then more of them. */
const briefRates = [null, 5, 4, 2] as const;
/** At most this many of the segmentations that fit are refined. */
const refined = 8;
/** Where less of forward's arithmetic than this runs again, nothing else is tried. */
const cheap = 0.1;
/** Programs of all choices together have about this many ops, as ordering them takes time. */
const effort = 600_000;
/** At most this many choices are tried at once. */
const most = 120;

/** Values that are kept at least, and values that are recomputed rather than held. */
interface Base {
  readonly stays: ReadonlySet<ValueId>;
  readonly brief: ReadonlySet<ValueId>;
  readonly kept: Map<number, ReadonlySet<ValueId>>;
  readonly tried: Map<number, Choice>;
}

const none: ReadonlySet<ValueId> = new Set();

/**
 * Finds what of forward backward should compute again. Three kinds of choices are combined. Of forward as segments
 * what crosses between them stays, which bounds what is live while one of them is made again; of the rest
 * stays what is cheapest at a rate of exchange between bytes and arithmetic; and within a segment that is made
 * again, cheap values are not held for later ops. In the best combination, single values are traded.
 */
export class RecomputeSearch {
  readonly #facts: ForwardFacts;
  readonly #costOf: Cost;
  readonly #forwardWork: number;
  readonly #segments: readonly ReadonlySet<ValueId>[];
  readonly #bases = new Map<number, readonly Base[]>();
  readonly #made = new Map<string, Choice>();
  #left = effort;

  constructor(facts: ForwardFacts, costOf: Cost) {
    this.#facts = facts;
    this.#costOf = costOf;
    this.#forwardWork = facts.forwardWork;
    this.#segments = segmentCounts
      .filter((count) => count === 1 || count * 4 <= facts.forward.length)
      .map((count) => checkpoints(facts, count));
  }

  /** The cheapest choice within the budget, of those that were tried; where none is, the one that needs least. */
  within(budget: number): Choice {
    // What is found on the way to a neighbouring budget may be better than what lies on the way to this one.
    for (const share of shares) {
      this.#left = Math.max(this.#left, effort / 4);
      this.#explore(share * budget);
      if (this.#isCheap(this.#best(budget), budget)) break;
    }
    return this.#traded(this.#best(budget), budget);
  }

  #explore(budget: number): void {
    // Without segments, what is cheap runs again: most budgets ask for no more.
    this.#refine(this.#basesAt(0)[0]!, budget);
    for (const level of briefRates.keys()) {
      if (this.#left < 0 || this.#isCheap(this.#best(budget), budget)) break;
      const fitting = this.#basesAt(level).filter((base) => this.#try(base, 0).fits(budget));
      fitting.sort((a, b) => this.#try(a, 0).work - this.#try(b, 0).work);
      for (const base of fitting.slice(0, refined)) this.#refine(base, budget);
    }
  }

  #traded(best: Choice, budget: number): Choice {
    if (!best.fits(budget) || best.work === 0) return best;
    const choiceOf = this.#choiceOf.bind(this);
    const trades = new Trades(this.#facts, choiceOf, budget);
    const more = trades.keepingMore(best);
    if (this.#isCheap(more, budget)) return more;
    return trades.exchanged(trades.nearby(more, this.#tried()));
  }

  #isCheap(choice: Choice, budget: number): boolean {
    return choice.work <= cheap * this.#forwardWork && choice.fits(budget);
  }

  #basesAt(level: number): readonly Base[] {
    const known = this.#bases.get(level);
    if (known) return known;
    const rate = briefRates[level]!;
    const brief = rate === null ? none : this.#briefAt(rates[rate]!);
    const bases = this.#segments.map((stays) => {
      return { stays, brief, kept: new Map(), tried: new Map() };
    });
    this.#bases.set(level, bases);
    return bases;
  }

  #briefAt(rate: number): ReadonlySet<ValueId> {
    const held = cheapestKept(this.#facts, rate, none);
    const made = this.#facts.forward.flatMap((index) => this.#facts.program.ops[index]!.outputs);
    return new Set(made.filter((id) => !held.has(id)));
  }

  /** `step`: of the shares between all rates. */
  #try(base: Base, step: number): Choice {
    const known = base.tried.get(step);
    if (known) return known;
    const choice = this.#choiceOf(this.#keptAt(base, step), base.brief);
    this.#left -= Math.max(choice.program.ops.length, effort / most);
    base.tried.set(step, choice);
    return choice;
  }

  /** Neighbouring rates and segmentations often keep the same values. */
  #choiceOf(stays: ReadonlySet<ValueId>, brief: ReadonlySet<ValueId>): Choice {
    const key = `${keyOf(stays)}|${keyOf(brief)}`;
    const known = this.#made.get(key);
    if (known) return known;
    const recomputed = recomputeInBackward(this.#facts, stays, brief);
    const choice = new Choice(recomputed, stays, brief, this.#costOf);
    this.#made.set(key, choice);
    return choice;
  }

  /**
   * Returns the values to keep at a step. The results of the last layers are kept first: backward reads them first, so
   * that they stay for the shortest time, and while the most is live nothing is recomputed.
   */
  #keptAt(base: Base, step: number): ReadonlySet<ValueId> {
    const rate = Math.floor(step / parts);
    const least = this.#cheapest(base, rate);
    const share = step % parts;
    if (share === 0) return least;
    const more = [...this.#cheapest(base, rate + 1)].filter((id) => !least.has(id));
    const late = more.sort((a, b) => b - a).slice(0, Math.round((more.length * share) / parts));
    return new Set([...least, ...late]);
  }

  #cheapest({ stays, kept }: Base, rate: number): ReadonlySet<ValueId> {
    const known = kept.get(rate);
    if (known) return known;
    const cheapest = cheapestKept(this.#facts, rates[rate]!, stays);
    kept.set(rate, cheapest);
    return cheapest;
  }

  /** Lets as much stay as the budget allows: from the highest rate down to the first that fits, then in between. */
  #refine(base: Base, budget: number): void {
    const fits = (step: number) => this.#try(base, step).fits(budget);
    let rate = rates.length - 2;
    while (rate > 0 && this.#left > 0 && !fits(rate * parts)) rate--;
    let [low, high] = [rate * parts, (rate + 1) * parts];
    while (high - low > 1 && this.#left > 0) {
      const step = (low + high) >> 1;
      if (fits(step)) low = step;
      else high = step;
    }
  }

  #tried(): Choice[] {
    return [...this.#bases.values()].flat().flatMap((base) => [...base.tried.values()]);
  }

  #best(budget: number): Choice {
    const tried = this.#tried();
    const fitting = tried.filter((choice) => choice.fits(budget));
    if (fitting.length > 0) return fitting.reduce((a, b) => (b.work < a.work ? b : a));
    return tried.reduce((a, b) => (b.bytesFor(budget) < a.bytesFor(budget) ? b : a));
  }
}

const keyOf = (ids: ReadonlySet<ValueId>): string => [...ids].sort((a, b) => a - b).join();
