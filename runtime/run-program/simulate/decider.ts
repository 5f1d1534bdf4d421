import { invariant } from '../../errors/invariant.ts';
import type { ProgramOp } from '../../program/program.ts';

/** Decides for the control ops of a simulated run, in the order in which they begin. */
export interface Decider {
  /** Returns the index of the region of a `cond` that runs. */
  branch(op: ProgramOp): number;
  /**
   * Returns the number of iterations of a `while`, or a function that returns whether the next iteration runs.
   * `recorded`: whether iterations save values for backward.
   */
  iterations(op: ProgramOp, recorded: boolean): number | (() => boolean);
  /** Returns the index of the element that an op reads or writes, in a list of this length. */
  element(count: number): number;
  /** Returns a number that determines shapes; null if it doesn't matter. */
  number(): number | null;
}

/** Replays recorded decisions, in the order in which they began. */
export class RecordedDecisions implements Decider {
  readonly #decisions: readonly number[];
  #next = 0;

  constructor(decisions: readonly number[]) {
    this.#decisions = decisions;
  }

  branch(): number {
    return this.#take();
  }

  iterations(): number {
    return this.#take();
  }

  element(): number {
    return this.#take();
  }

  number(): number {
    return this.#take();
  }

  #take(): number {
    const decision = this.#decisions[this.#next++];
    invariant(decision !== undefined, 'a program decides more than is on record');
    return decision;
  }
}
