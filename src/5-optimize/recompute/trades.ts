import type { ValueId } from '../../../runtime/program/program.ts';
import type { Choice } from './choice.ts';
import type { ForwardFacts } from './forward-facts.ts';

/** Programs of all choices that one budget asks for have about this many ops. */
const effort = 250_000;
/** Choices up to this much above the budget may come below it. */
const near = 1.15;
/** At most this many of them are tried. */
const mostNear = 3;

export type ChoiceOf = (stays: ReadonlySet<ValueId>, brief: ReadonlySet<ValueId>) => Choice;

/**
 * Trades single values. The choices of a search are coarse: some of the budget is left, or a little is missing. What
 * saves most arithmetic per byte is kept while it fits; a choice that is just too large computes more again, what costs
 * least; and what takes most arithmetic is kept in exchange for other values.
 */
export class Trades {
  readonly #facts: ForwardFacts;
  readonly #choiceOf: ChoiceOf;
  readonly #budget: number;
  #left = effort;

  constructor(facts: ForwardFacts, choiceOf: ChoiceOf, budget: number) {
    this.#facts = facts;
    this.#choiceOf = choiceOf;
    this.#budget = budget;
  }

  /** As much of what a choice computes again as fits is kept, many values at once while that goes well. */
  keepingMore(choice: Choice): Choice {
    let best = choice;
    const values = this.#madeAgain(choice, (id) => this.#worthOf(id));
    for (let [at, count] = [0, 1]; at < values.length && this.#left > 0; ) {
      const other = this.#choose([...best.stays, ...values.slice(at, at + count)], best);
      const fits = other.fits(this.#budget);
      if (fits && other.work < best.work) best = other;
      if (fits || count === 1) at += count;
      count = fits ? 2 * count : Math.max(1, count >> 1);
    }
    return best;
  }

  /** The choice, or one of `others` with less arithmetic that is made to fit. */
  nearby(choice: Choice, others: readonly Choice[]): Choice {
    const nearly = others
      .filter((other) => other.work < choice.work && this.#isNear(other))
      .sort((a, b) => a.bytesFor(this.#budget) - b.bytesFor(this.#budget));
    let best = choice;
    for (const other of nearly.slice(0, mostNear)) {
      const fitting = this.#keepingLess(other, best.work);
      if (fitting) best = this.keepingMore(fitting);
    }
    return best;
  }

  exchanged(choice: Choice): Choice {
    let best = choice;
    for (const id of this.#madeAgain(choice, (each) => this.#workOf(each))) {
      if (this.#left < 0) break;
      if (best.stays.has(id)) continue;
      const larger = this.#choose([...best.stays, id], best);
      if (larger.work >= best.work || !this.#isNear(larger)) continue;
      const fitting = this.#keepingLess(larger, best.work);
      if (fitting) best = this.keepingMore(fitting);
    }
    return best;
  }

  /** A choice that fits, with less arithmetic than `work`; null where none is found. */
  #keepingLess(choice: Choice, work: number): Choice | null {
    const facts = this.#facts;
    const values = [...choice.stays]
      .filter((id) => facts.canBeMadeAgain(id) && facts.isReadByBackward(id))
      .sort((a, b) => this.#worthOf(a) - this.#worthOf(b));
    for (let count = 1; this.#left > 0; count *= 2) {
      const less = new Set(values.slice(0, count));
      const stays = [...choice.stays].filter((id) => !less.has(id));
      const other = this.#choose(stays, choice);
      if (other.work >= work) return null;
      if (other.fits(this.#budget)) return other;
      if (count >= values.length) return null;
    }
    return null;
  }

  #choose(stays: readonly ValueId[], { brief }: Choice): Choice {
    const choice = this.#choiceOf(new Set(stays), brief);
    this.#left -= choice.program.ops.length;
    return choice;
  }

  #isNear(choice: Choice): boolean {
    return choice.bytesFor(this.#budget) <= this.#budget * near;
  }

  /** The values that a choice computes again, the dearest first. */
  #madeAgain({ again }: Choice, priceOf: (id: ValueId) => number): ValueId[] {
    const values = [...again].filter((id) => this.#facts.rootOf(id) === id);
    return values.sort((a, b) => priceOf(b) - priceOf(a));
  }

  #workOf(id: ValueId): number {
    return this.#facts.workOfOp(this.#facts.definitionIndex(id));
  }

  /** Arithmetic per byte. */
  #worthOf(id: ValueId): number {
    return this.#workOf(id) / this.#facts.bytesOf(id);
  }
}
