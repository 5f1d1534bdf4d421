import type { Candidate } from './choice.ts';

/** Where plans need less than was measured, sizes are told apart by this factor. */
const step = 1.03;
/** After so many failures, candidates of that size or larger are no longer planned. */
const mostFailures = 2;

/**
 * The candidates whose plans did not fit, in one search by increasing arithmetic. What plans need beside what was measured
 * differs little among evictions, and among choices of kept values; and a plan takes a hundred times as long as measuring.
 *
 * More bytes still never cost more arithmetic: what fits a budget had fewer failures of its size or below before it, and
 * a larger budget adds candidates of larger sizes only.
 */
export class FailedPlans {
  readonly #beside: number;
  readonly #step: number | null;
  readonly #evicted: number[] = [];
  readonly #kept: number[] = [];

  /** `beside`: measured bytes that all candidates have in common. `isExact`: whether plans need what was measured. */
  constructor(beside: number, isExact: boolean) {
    this.#beside = beside;
    this.#step = isExact ? null : Math.log(step);
  }

  /** The bytes up to which a search has to look: all of a size. */
  limitOf(bytes: number): number {
    if (this.#step === null) return bytes;
    const next = Math.ceil(this.#beside + Math.exp((this.#sizeOf(bytes) + 1) * this.#step));
    return this.#sizeOf(next) > this.#sizeOf(bytes) ? next - 1 : next;
  }

  add(candidate: Candidate): void {
    this.#alike(candidate).push(this.#sizeOf(candidate.bytes));
  }

  excludes(candidate: Candidate): boolean {
    const size = this.#sizeOf(candidate.bytes);
    return this.#alike(candidate).filter((other) => other <= size).length >= mostFailures;
  }

  #alike({ how }: Candidate): number[] {
    return 'stays' in how ? this.#kept : this.#evicted;
  }

  #sizeOf(bytes: number): number {
    const own = Math.max(1, bytes - this.#beside);
    return this.#step === null ? own : Math.floor(Math.log(own) / this.#step);
  }
}
