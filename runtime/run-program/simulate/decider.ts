import { invariant } from '../../errors/invariant.ts';
import type { ProgramOp } from '../../program/program.ts';

/** Says what the control ops of a simulated run decide, in the order in which they begin. */
export interface Decider {
  /** Returns the number of the region of a `cond` that runs. */
  branch(op: ProgramOp): number;
  /** Iterations of a `while`; `recorded`: each leaves something for backward. */
  iterations(op: ProgramOp, recorded: boolean): number;
  /** Returns the index of the element, among this many of a list, that an op reads or writes. */
  element(count: number): number;
  /** A number that decides shapes; null: any. */
  number(): number | null;
}

/** A run that is on record: decisions in the order in which they began. */
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
