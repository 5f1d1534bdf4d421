import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { EvictionPolicy } from './pressure.ts';
import type { Recomputed } from './recompute-in-backward.ts';

/** Bytes of a program, by a measure that is cheap enough to be asked some dozen times; any up to `enough` will do. */
export type Cost = (program: Program, enough?: number) => number;

/** A program that recomputes part of forward, and how it was found. */
export abstract class Candidate implements Recomputed {
  readonly program: Program;
  readonly ops: number;
  readonly work: number;
  readonly again: ReadonlySet<ValueId>;
  readonly #costOf: Cost;
  /** Exact where they are more than was enough when they were counted. */
  #bytes = Number.POSITIVE_INFINITY;
  #enough = Number.POSITIVE_INFINITY;

  constructor({ program, ops, work, again }: Recomputed, costOf: Cost) {
    this.program = program;
    this.ops = ops;
    this.work = work;
    this.again = again;
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

/** A program with the values that are kept, and those that are recomputed rather than held. */
export class Choice extends Candidate {
  readonly stays: ReadonlySet<ValueId>;
  readonly brief: ReadonlySet<ValueId>;

  constructor(
    recomputed: Recomputed,
    stays: ReadonlySet<ValueId>,
    brief: ReadonlySet<ValueId>,
    costOf: Cost,
  ) {
    super(recomputed, costOf);
    this.stays = stays;
    this.brief = brief;
  }
}

/** A program whose values were evicted by a policy. */
export class Eviction extends Candidate {
  readonly policy: EvictionPolicy;

  constructor(recomputed: Recomputed, policy: EvictionPolicy, costOf: Cost) {
    super(recomputed, costOf);
    this.policy = policy;
  }
}

/** The candidate that fits with less arithmetic; where none fits, the one that needs fewer bytes. */
export function better<T extends Candidate>(a: T, b: T, budget: number): T {
  const [fits, fitsToo] = [a.fits(budget), b.fits(budget)];
  if (fits !== fitsToo) return fits ? a : b;
  if (fits) return b.work < a.work ? b : a;
  return b.bytesFor(budget) < a.bytesFor(budget) ? b : a;
}
