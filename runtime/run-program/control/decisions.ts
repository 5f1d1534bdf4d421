/** Longer runs are not on record: what is predicted of them would be a program of its own. */
const mostDecisions = 1 << 16;

/**
 * The decisions of control ops in one run, in the order in which they began: 0 or 1 for the branch that was taken, and
 * the number of iterations. From it the bytes of that run follow.
 */
export class Decisions {
  readonly list: number[] = [];
  /** All of a run that came to its end. */
  complete = false;
  #overflowed = false;

  /** Before a run. */
  clear(): void {
    this.list.length = 0;
    this.complete = false;
    this.#overflowed = false;
  }

  /** After a run that came to its end. */
  close(): void {
    this.complete = !this.#overflowed;
  }

  /** Returns the place of the decision, to fill it in later; −1: it is not kept. */
  note(decision: number): number {
    if (this.list.length < mostDecisions) return this.list.push(decision) - 1;
    this.#overflowed = true;
    return -1;
  }

  fill(place: number, decision: number): void {
    if (place >= 0) this.list[place] = decision;
  }
}

/** Records the decisions of the current run; null: they are not recorded. */
export const decided: { current: Decisions | null } = { current: null };
