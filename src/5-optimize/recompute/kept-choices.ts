import type { ValueId } from '../../../runtime/program/program.ts';
import { cheapestKept } from './cheapest-kept.ts';
import { checkpoints } from './checkpoints.ts';
import { Candidate, type Cost, type Kept, mostWork, type RecomputeSelection } from './choice.ts';
import type { ForwardFacts } from './forward-facts.ts';
import { recomputeAtMost, recomputeInBackward } from './recompute-in-backward.ts';

/**
 * Numbers of segments to divide forward into; memory that crosses between segments is kept. Large programs try the
 * first few.
 */
const segmentCounts = [1, 4, 16, 2, 8, 32, 3, 6, 12, 24, 64, 48, 96, 128];
/** Bytes that an arithmetic operation is worth; cheaper values are kept as well. The first rate keeps none. */
const lowRates = [0, 4 ** -7, 4 ** -5];
/** Rates, up to one at which nearly everything is kept. */
const rates = [0, ...Array.from({ length: 9 }, (_, i) => 4 ** (i - 7))];
/** Between two rates, the values that only the higher rate keeps are added in this many steps. */
const shares = 24;
/** Values that would be recomputed at this rate are brief: none at first, then the cheapest, then more. */
const briefRates = [null, 4 ** -5, 4 ** -3, 4 ** -2];
/** The most ops of all programs that choices by segments write, since writing takes time. */
const effort = 80_000;
/** Only programs of at most this many ops are cut at all rates. */
const fewOps = 4000;

const none: ReadonlySet<ValueId> = new Set();

/**
 * Choices of what to keep for backward, independent of the budget. Each choice is written once, to find its arithmetic.
 */
export class KeptChoices {
  readonly #facts: ForwardFacts;
  readonly #costOf: Cost;
  readonly #known = new Set<string>();
  /** The first candidate that writes each program, by the ops that run again in it. */
  readonly #byRuns = new Map<string, Candidate>();
  /** Ops of all programs written so far. */
  #written = 0;
  readonly #make = (how: RecomputeSelection) => {
    const { stays, brief } = how as Kept;
    return recomputeInBackward(this.#facts, new Set(stays), new Set(brief));
  };

  constructor(facts: ForwardFacts, costOf: Cost) {
    this.#facts = facts;
    this.#costOf = costOf;
  }

  /**
   * Choices that keep what is cheapest at some exchange rate between bytes and arithmetic. From one rate to the next,
   * results of the last layers are added first: backward reads them first, so they live shortest, and nothing is
   * recomputed at the peak.
   */
  cheapest(): readonly Candidate[] {
    if (this.#facts.program.ops.length > fewOps) return [];
    const kept = rates.map((rate) => cheapestKept(this.#facts, rate, none));
    return kept.flatMap((least, i) => {
      const more = [...(kept[i + 1] ?? none)].filter((id) => !least.has(id));
      const late = more.sort((a, b) => b - a);
      return Array.from({ length: shares }, (_, share) =>
        this.#choice(
          [...least, ...late.slice(0, Math.round((late.length * share) / shares))],
          none,
        ),
      ).flat();
    });
  }

  /**
   * Choices that divide forward into segments. Keeping what crosses between segments bounds what is live while one is
   * recomputed. Of the rest, the cheapest values at a low rate are kept, and cheap values are not kept live for later
   * ops. Recomputing takes about as much arithmetic as forward, or more.
   */
  inSegments(): readonly Candidate[] {
    const { forward, program } = this.#facts;
    const defined = forward.flatMap((index) => program.ops[index]!.outputs);
    const briefs = briefRates.map((rate) => {
      if (rate === null) return none;
      const held = cheapestKept(this.#facts, rate, none);
      return new Set(defined.filter((id) => !held.has(id)));
    });
    const most = this.#written + effort;
    const counts = segmentCounts.filter((count) => count === 1 || count * 4 <= forward.length);
    return lowRates.flatMap((rate) =>
      counts.flatMap((count) => {
        if (this.#written > most) return [];
        const stays = [...cheapestKept(this.#facts, rate, checkpoints(this.#facts, count))];
        return briefs.flatMap((brief) => this.#choice(stays, brief));
      }),
    );
  }

  /** Different rates and segments often keep the same values. */
  #choice(stays: readonly ValueId[], brief: ReadonlySet<ValueId>): readonly Candidate[] {
    const how = { stays: [...stays].sort((a, b) => a - b), brief: [...brief] };
    const key = `${how.stays}|${how.brief}`;
    if (this.#known.has(key)) return [];
    this.#known.add(key);
    const most = mostWork * this.#facts.forwardWork;
    const recomputed = recomputeAtMost(most, this.#facts, new Set(stays), brief);
    this.#written += recomputed?.program.ops.length ?? this.#facts.program.ops.length;
    if (!recomputed || recomputed.ops === 0) return [];
    const runs = recomputed.runs.join();
    const like = this.#byRuns.get(runs);
    const candidate = new Candidate(how, recomputed.work, this.#make, this.#costOf, like);
    if (!like) this.#byRuns.set(runs, candidate);
    return [candidate];
  }
}
