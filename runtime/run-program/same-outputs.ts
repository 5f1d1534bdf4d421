/** Outputs that may be one tensor in a run, or a tensor that was passed in. */

import type { Tensor } from '../tensor/tensor.ts';
import { inputThatIs, isSameValue, valueIn } from './scope/identity.ts';

/** An output and the outputs that are the same tensor in eager execution on some path. */
export interface SameOutput {
  readonly output: number;
  /** Earlier outputs, or leaves, whose handle is kept. */
  readonly others: readonly { readonly index: number; readonly isLeaf: boolean }[];
  /** Whether it may also be an input. */
  readonly mayBeInput: boolean;
}

/** Replaces handles to the same tensor by one handle: the input's if it is an input. */
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
          // With and without gradient history, one value has two handles; leaf results are marked after the run.
          const isAlike = isLeaf || other.requiresGrad === own.requiresGrad;
          return isAlike && isSameValue(valueIn(other), value) ? other : undefined;
        })
        .find((other) => other);
    if (!known || known === own) continue;
    own.dispose();
    outputs[output] = known;
  }
}
