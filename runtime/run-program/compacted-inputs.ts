import type { Holder } from '../device/holder.ts';
import type { CompactedInput } from '../program/plan.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** The memory of such an input, which may be gone by now, as it was in forward. */
export interface WatchedInput extends Pick<CompactedInput, 'saved'> {
  readonly holder: Holder;
  readonly version: number;
}

/**
 * Eager execution keeps the input itself, and finds by its version that it was written before backward. Its memory may
 * be donated, so that this comes before the run.
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
