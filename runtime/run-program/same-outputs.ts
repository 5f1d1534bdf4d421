/** Outputs of a program that a run may leave as one tensor, or as a tensor that it was given. */

import type { Tensor } from '../tensor/tensor.ts';
import { inputThatIs, isSameValue, valueIn } from './scope/identity.ts';

/** An output, and others that it may be: on some path eager execution has one tensor for both. */
export interface SameOutput {
  readonly output: number;
  /** Earlier ones, or leaves: the handle of one of these is kept. */
  readonly others: readonly { readonly index: number; readonly isLeaf: boolean }[];
  /** It may be an input as well. */
  readonly mayBeInput: boolean;
}

/** Puts one handle in the place of several that are one tensor: the one that the run was given, if it was. */
export function joinSame(
  outputs: Tensor[],
  same: readonly SameOutput[],
  inputs: readonly Tensor[],
): void {
  for (const { output, others, mayBeInput } of same) {
    const own = outputs[output]!;
    const value = valueIn(own);
    const given = mayBeInput ? inputThatIs(value, inputs) : undefined;
    const known =
      given ??
      others
        .map(({ index, isLeaf }) => {
          const other = outputs[index]!;
          // With and without a graph, one value has two handles; that a result is a leaf is said after the run.
          const isAlike = isLeaf || other.requiresGrad === own.requiresGrad;
          return isAlike && isSameValue(valueIn(other), value) ? other : undefined;
        })
        .find((other) => other);
    if (!known || known === own) continue;
    own.dispose();
    outputs[output] = known;
  }
}
