/** The maximum number of recorded decisions: for a longer run, a prediction would be as large as a program. */
const mostDecisions = 1 << 16;

/**
 * The decisions of control ops in one run, in the order in which they began: 0 or 1 for the branch taken, and the
 * number of iterations. They determine the bytes of the run.
 */
export class Decisions {
  readonly list: number[] = [];
  /** Whether the decisions cover an entire finished run. */
  complete = false;
  #overflowed = false;

  /** Called before a run. */
  clear(): void {
    this.list.length = 0;
    this.complete = false;
    this.#overflowed = false;
  }

  /** Called after a run has finished. */
  close(): void {
    this.complete = !this.#overflowed;
  }

  /** Returns the index of a decision to be filled in later; −1 if it is not recorded. */
  note(decision: number): number {
    if (this.list.length < mostDecisions) return this.list.push(decision) - 1;
    this.#overflowed = true;
    return -1;
  }

  fill(index: number, decision: number): void {
    if (index >= 0) this.list[index] = decision;
  }
}

/** Records the decisions of the current run; null while nothing is recorded. */
export const decided: { current: Decisions | null } = { current: null };
