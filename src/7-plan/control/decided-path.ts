import type { ProgramOp } from '../../../runtime/program/program.ts';
import type { Decider } from '../../../runtime/run-program/simulate/decider.ts';
import type { UniformPath } from './uniform-path.ts';

/**
 * A path on which a control op may decide differently each time it runs: a list of decisions in execution order,
 * including one before each iteration of an unrecorded loop, followed by the decisions of a uniform path.
 */
export class DecidedPath implements Decider {
  /** The decisions so far. */
  readonly made: number[] = [];
  readonly #decisions: readonly number[];
  readonly #base: UniformPath;

  constructor(decisions: readonly number[], base: UniformPath) {
    this.#decisions = decisions;
    this.#base = base;
  }

  branch(op: ProgramOp): number {
    return this.#decide(op, [0, 1], this.#base.branch(op));
  }

  iterations(op: ProgramOp, recorded: boolean): number | (() => boolean) {
    const usual = this.#base.iterations(op, recorded);
    if (recorded) return this.#decide(op, [0, 1], usual);
    const mayContinue = this.limit();
    let done = 0;
    return () => {
      const options = mayContinue(done) ? [0, 1] : [0];
      const continues = this.#decide(op, options, done < usual ? 1 : 0) === 1;
      if (continues) done++;
      return continues;
    };
  }

  element(count: number): number {
    return this.#base.element(count);
  }

  number(): null {
    return null;
  }

  /** Called at the start of a loop; returns whether another iteration may follow `done` iterations. */
  protected limit(): (done: number) => boolean {
    return () => true;
  }

  /** Called before each decision that isn't in the list. */
  protected open(_op: ProgramOp, _others: readonly number[]): void {}

  #decide(op: ProgramOp, options: readonly number[], usual: number): number {
    const forced = this.#decisions[this.made.length];
    const decision = forced ?? (options.includes(usual) ? usual : options[0]!);
    if (forced === undefined) {
      this.open(
        op,
        options.filter((each) => each !== decision),
      );
    }
    this.made.push(decision);
    return decision;
  }
}
