import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { EvictionPolicy } from './pressure.ts';
import type { Recomputed } from './recompute-in-backward.ts';

/** Bytes of a program, by a measure that is cheap enough to be asked some dozen times. */
export type Cost = (program: Program) => number;

/** A candidate recomputes at most this many times forward's arithmetic: bytes are not worth any time. */
export const mostWork = 4;

/** How the recomputed values are found: as data, from which the same program is made again. */
export type How = Kept | EvictionPolicy;

/** Values that are kept, and values that are recomputed rather than held. */
export interface Kept {
  readonly stays: readonly ValueId[];
  readonly brief: readonly ValueId[];
}

/**
 * A program that recomputes part of forward, by its arithmetic. The program itself is made on request and not kept: of
 * hundreds of candidates few are looked at.
 */
export class Candidate {
  readonly how: How;
  /** Arithmetic operations that run twice, roughly. */
  readonly work: number;
  readonly #make: (how: How) => Recomputed;
  readonly #costOf: Cost;
  #bytes: number | undefined;

  constructor(how: How, work: number, make: (how: How) => Recomputed, costOf: Cost) {
    this.how = how;
    this.work = work;
    this.#make = make;
    this.#costOf = costOf;
  }

  make(): Recomputed {
    return this.#make(this.how);
  }

  /** Bytes that the program needs, by the given measure. */
  get bytes(): number {
    this.#bytes ??= this.#costOf(this.make().program);
    return this.#bytes;
  }
}
