import type { ValueId } from '../../../runtime/program/program.ts';
import { cheapestKept } from './cheapest-kept.ts';
import { checkpoints } from './checkpoints.ts';
import { Candidate, type Cost, type How, type Kept, mostWork } from './choice.ts';
import type { ForwardFacts } from './forward-facts.ts';
import { recomputeInBackward } from './recompute-in-backward.ts';

/** Forward falls into so many segments, what crosses from one to the next stays. Large programs try the first few. */
const segmentCounts = [1, 4, 16, 2, 8, 32, 3, 6, 12, 24, 64, 48, 96, 128];
/** Bytes that an arithmetic operation is worth, where values that are cheaper stay as well: from nothing on. */
const lowRates = [0, 4 ** -7, 4 ** -5];
/** The same, up to where nearly all stays. */
const rates = [0, ...Array.from({ length: 9 }, (_, i) => 4 ** (i - 7))];
/** Between two rates, what only the higher one keeps is added in this many shares. */
const shares = 24;
/** Values that this rate would recompute are brief: none, the cheapest, then more of them. */
const briefRates = [null, 4 ** -5, 4 ** -3, 4 ** -2];
/** Programs of all choices by segments together have about this many ops, as writing them takes time. */
const effort = 80_000;
/** Only programs of up to so many ops are cut at all rates. */
const fewOps = 4000;

const none: ReadonlySet<ValueId> = new Set();

/** Choices of what stays for backward, whatever the budget. Each is written once, for its arithmetic. */
export class KeptChoices {
  readonly #facts: ForwardFacts;
  readonly #costOf: Cost;
  readonly #known = new Set<string>();
  /** Ops of all programs that were written. */
  #written = 0;
  readonly #make = (how: How) => {
    const { stays, brief } = how as Kept;
    return recomputeInBackward(this.#facts, new Set(stays), new Set(brief));
  };

  constructor(facts: ForwardFacts, costOf: Cost) {
    this.#facts = facts;
    this.#costOf = costOf;
  }

  /**
   * Choices that keep what is cheapest at some rate of exchange between bytes and arithmetic. From one rate to the next
   * the results of the last layers are added first: backward reads them first, so that they stay for the shortest time,
   * and while the most is live nothing is recomputed.
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
   * Choices that cut forward into segments: what crosses between them stays, which bounds what is live while one of them is
   * recomputed; of the rest stays what is cheapest at a low rate; and cheap values are not held for later ops. That takes
   * about as much arithmetic as forward, or more.
   */
  inSegments(): readonly Candidate[] {
    const { forward, program } = this.#facts;
    const made = forward.flatMap((index) => program.ops[index]!.outputs);
    const briefs = briefRates.map((rate) => {
      if (rate === null) return none;
      const held = cheapestKept(this.#facts, rate, none);
      return new Set(made.filter((id) => !held.has(id)));
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
    const { work, ops, program } = this.#make(how);
    this.#written += program.ops.length;
    const isAbsurd = work > mostWork * this.#facts.forwardWork;
    return ops === 0 || isAbsurd ? [] : [new Candidate(how, work, this.#make, this.#costOf)];
  }
}
