/**
 * Sample values for data-dependent numbers. What a call returns for several of them says
 * which sizes of its results depend on them, and which are fixed: nothing has to be known about the function.
 * The sizes of each run are checked against that.
 */

import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/**
 * For every number that nothing is known of; one that is computed of others has what is computed of these. Small
 * ones are among them for tensors that have few rows; they come last, since a size of 1 or 0 is often special.
 */
export const samples: readonly number[] = [3, 5, 8, 2, 1, 0];

const computed = new WeakMap<Tensor, readonly number[]>();

/** The sample values of a device scalar. */
export function samplesOf(number: Tensor): readonly number[] {
  return computed.get(number) ?? samples;
}

export function noteSamples(number: Tensor, values: readonly number[]): void {
  computed.set(number, values);
}
