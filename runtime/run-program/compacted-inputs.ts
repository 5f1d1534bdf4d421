import type { Holder } from '../device/holder.ts';
import type { CompactedInput } from '../program/plan.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** A compacted input's memory, which may have been freed since, and its version at forward. */
export interface WatchedInput extends Pick<CompactedInput, 'saved'> {
  readonly holder: Holder;
  readonly version: number;
}

/**
 * Records the versions of compacted inputs, so that a write before backward is detected, as in eager execution, which
 * saves the input itself. Called before the run, which may consume donated memory.
 */
export function watched(
  compacted: readonly CompactedInput[],
  inputs: readonly Tensor[],
): readonly WatchedInput[] {
  return compacted.flatMap(({ number, saved }) => {
    const { holder } = inputs[number]!;
    return holder ? [{ saved, holder, version: holder.version }] : [];
  });
}
