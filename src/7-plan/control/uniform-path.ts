import type { ProgramOp } from '../../../runtime/program/program.ts';
import type { Decider } from '../../../runtime/run-program/simulate/decider.ts';

/** A path on which every control op makes the same decision each time it runs. */
export class UniformPath implements Decider {
  /** The decision of each op, in order of first execution. */
  readonly chosen: Map<ProgramOp, number>;
  /** The possible decisions of each op; the first is the default. */
  readonly options = new Map<ProgramOp, readonly number[]>();

  constructor(chosen: ReadonlyMap<ProgramOp, number> = new Map()) {
    this.chosen = new Map(chosen);
  }

  branch(op: ProgramOp): number {
    return this.#choose(op, branches);
  }

  iterations(op: ProgramOp, recorded: boolean): number {
    return this.#choose(op, recorded ? recordedIterations : iterations);
  }

  /** Returns the index of the last element. */
  element(count: number): number {
    return count - 1;
  }

  number(): null {
    return null;
  }

  /** Returns a path that differs in the decision of one op. */
  with(op: ProgramOp, decision: number): UniformPath {
    return new UniformPath(new Map(this.chosen).set(op, decision));
  }

  #choose(op: ProgramOp, options: readonly number[]): number {
    this.options.set(op, options);
    const chosen = this.chosen.get(op) ?? options[0]!;
    this.chosen.set(op, chosen);
    return chosen;
  }
}

const branches = [0, 1];
/** From the third iteration on, memory is in a steady state. */
const iterations = [3, 1, 0];
/** A recorded loop saves more with each iteration; one iteration represents all. */
const recordedIterations = [1, 0];
