/**
 * Sample values for data-dependent numbers. The results of a call for several samples show which of their sizes
 * depend on the numbers and which are fixed, so nothing needs to be known about the function. Each run checks its
 * sizes against this.
 */

import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/**
 * The values of unknown numbers; a computed number has the values computed from these. Small values are included
 * for tensors with few rows; they come last, since sizes of 1 and 0 are often special.
 */
export const samples: readonly number[] = [3, 5, 8, 2, 1, 0];

const computed = new WeakMap<Tensor, readonly number[]>();

/** Returns the sample values of a device scalar. */
export function samplesOf(number: Tensor): readonly number[] {
  return computed.get(number) ?? samples;
}

export function noteSamples(number: Tensor, values: readonly number[]): void {
  computed.set(number, values);
}
