/**
 * Sample values for data-dependent numbers. The results of a call for several samples show which sizes depend on the
 * numbers and which are fixed, without knowledge of the function. Each run checks its sizes against this.
 */

import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/**
 * The values of all unknown numbers in the first sample runs; computed numbers are computed from these. Small values
 * are included for tensors with few rows; they come last, since sizes of 1 and 0 are often special.
 */
const equal = [3, 5, 8, 2, 1, 0] as const;

/**
 * The values that consecutive unknown numbers have in the last sample runs, where they differ: ascending and
 * descending.
 */
const different = [
  [1, 2, 3, 5],
  [5, 3, 2, 1],
  [0, 1, 2, 3],
  [3, 2, 1, 0],
] as const;

/** The indices of the sample runs. */
export const sampleRuns: readonly number[] = [...equal, ...different].map((_, i) => i);

/** The values of a trace's numbers in the sample runs. */
export class SampleNumbers {
  readonly #values = new WeakMap<Tensor, readonly number[]>();
  #unknown = 0;

  /** Returns the values of another unknown number. */
  next(): readonly number[] {
    const rank = this.#unknown++ % 4;
    return [...equal, ...different.map((values) => values[rank]!)];
  }

  /** Returns the values of a device scalar. */
  of(number: Tensor): readonly number[] {
    return getOrInsert(this.#values, number, () => this.next());
  }

  note(number: Tensor, values: readonly number[]): void {
    this.#values.set(number, values);
  }
}
