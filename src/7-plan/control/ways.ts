import { invariant } from '../../../runtime/errors/invariant.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import type { Decider } from './follow.ts';

/** A run that is on record: decisions in the order in which they began. */
export class RecordedWay implements Decider {
  readonly #decisions: readonly number[];
  #next = 0;

  constructor(decisions: readonly number[]) {
    this.#decisions = decisions;
  }

  branch(): number {
    return this.#take();
  }

  turns(): number {
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

/** Every control op decides alike each time that it runs. */
export class UniformWay implements Decider {
  /** What each op decides, in the order in which they were met. */
  readonly chosen: Map<ProgramOp, number>;
  /** What each could decide, the first one by default. */
  readonly options = new Map<ProgramOp, readonly number[]>();

  constructor(chosen: ReadonlyMap<ProgramOp, number> = new Map()) {
    this.chosen = new Map(chosen);
  }

  branch(op: ProgramOp): number {
    return this.#choose(op, branches);
  }

  turns(op: ProgramOp, recorded: boolean): number {
    return this.#choose(op, recorded ? recordedTurns : turns);
  }

  /** The last one. */
  element(count: number): number {
    return count - 1;
  }

  number(): null {
    return null;
  }

  /** The same, but for one op. */
  with(op: ProgramOp, decision: number): UniformWay {
    return new UniformWay(new Map(this.chosen).set(op, decision));
  }

  #choose(op: ProgramOp, options: readonly number[]): number {
    this.options.set(op, options);
    const chosen = this.chosen.get(op) ?? options[0]!;
    this.chosen.set(op, chosen);
    return chosen;
  }
}

const branches = [0, 1];
/** From the third turn on every turn finds what the one before found. */
const turns = [3, 1, 0];
/** With each turn more is kept: of such loops one turn counts. */
const recordedTurns = [1, 0];
