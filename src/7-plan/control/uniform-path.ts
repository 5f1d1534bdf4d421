import type { ProgramOp } from '../../../runtime/program/program.ts';
import type { Decider } from '../../../runtime/run-program/simulate/decider.ts';

/** Every control op takes the same path each time that it runs. */
export class UniformPath implements Decider {
  /** The decision of each op, in the order in which they were met. */
  readonly chosen: Map<ProgramOp, number>;
  /** The possible decisions of each op, the first one by default. */
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

  /** The last one. */
  element(count: number): number {
    return count - 1;
  }

  number(): null {
    return null;
  }

  /** Returns the path with another decision of one op. */
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
/** From the third iteration on each finds what the one before found. */
const iterations = [3, 1, 0];
/** With each iteration more is kept: of such loops one counts. */
const recordedIterations = [1, 0];
