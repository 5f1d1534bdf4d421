import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { Recomputed } from './recompute-in-backward.ts';

/** Bytes of a program, by a measure that is cheap enough to be asked some dozen times; any up to `enough` will do. */
export type Cost = (program: Program, enough?: number) => number;

/** A program with the values that are kept, and those that are recomputed rather than held. */
export class Choice implements Recomputed {
  readonly program: Program;
  readonly ops: number;
  readonly work: number;
  readonly again: ReadonlySet<ValueId>;
  readonly stays: ReadonlySet<ValueId>;
  readonly brief: ReadonlySet<ValueId>;
  readonly #costOf: Cost;
  /** Exact where they are more than was enough when they were counted. */
  #bytes = Number.POSITIVE_INFINITY;
  #enough = Number.POSITIVE_INFINITY;

  constructor(
    { program, ops, work, again }: Recomputed,
    stays: ReadonlySet<ValueId>,
    brief: ReadonlySet<ValueId>,
    costOf: Cost,
  ) {
    this.program = program;
    this.ops = ops;
    this.work = work;
    this.again = again;
    this.stays = stays;
    this.brief = brief;
    this.#costOf = costOf;
  }

  /** Bytes that the program needs by the given measure. */
  get bytes(): number {
    return this.bytesFor(0);
  }

  /** The same, exactly if that is more than the budget. */
  bytesFor(budget: number): number {
    if (this.#bytes > budget && this.#bytes <= this.#enough) {
      this.#bytes = this.#costOf(this.program, budget);
      this.#enough = budget;
    }
    return this.#bytes;
  }

  fits(budget: number): boolean {
    return this.bytesFor(budget) <= budget;
  }
}
