import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { EvictionPolicy } from './pressure.ts';
import type { Recomputed } from './recompute-in-backward.ts';

/** Estimates the bytes of a program, cheaply enough for dozens of candidates. */
export type Cost = (program: Program) => number;

/**
 * The most that a candidate may recompute, as a multiple of forward's arithmetic: bytes are not worth unlimited time.
 */
export const mostWork = 4;

/** How the recomputed values were chosen, as data from which the same program can be rebuilt. */
export type RecomputeSelection = Kept | EvictionPolicy;

/** Values that are kept, and values that are recomputed rather than kept live. */
export interface Kept {
  readonly stays: readonly ValueId[];
  readonly brief: readonly ValueId[];
}

/**
 * A program that recomputes part of forward, with its arithmetic. The program is built on request and not cached: few
 * of hundreds of candidates are used.
 */
export class Candidate {
  readonly how: RecomputeSelection;
  /** The rough number of arithmetic operations that run twice. */
  readonly work: number;
  readonly #make: (how: RecomputeSelection) => Recomputed;
  readonly #costOf: Cost;
  readonly #like: Candidate | undefined;
  #bytes: number | undefined;

  /** `like`: a candidate that writes the same program. */
  constructor(
    how: RecomputeSelection,
    work: number,
    make: (how: RecomputeSelection) => Recomputed,
    costOf: Cost,
    like?: Candidate,
  ) {
    this.how = how;
    this.work = work;
    this.#make = make;
    this.#costOf = costOf;
    this.#like = like;
  }

  make(): Recomputed {
    return this.#make(this.how);
  }

  /** Bytes that the program needs, by the given measure. */
  get bytes(): number {
    this.#bytes ??= this.#like?.bytes ?? this.#costOf(this.make().program);
    return this.#bytes;
  }
}
