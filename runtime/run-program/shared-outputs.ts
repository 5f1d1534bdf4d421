import { joinViews } from '../autograd/view-family.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Outputs that show the memory of an input or of another output become its views, as in eager
 * execution: a recorded write to one is seen by the others.
 */
export function joinShared(inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
  for (const output of outputs) {
    const { holder } = output;
    if (!holder || holder.handles === 1) continue;
    const base =
      inputs.find((own) => own.holder === holder) ??
      outputs.find((own) => own.holder === holder && isWhole(own));
    if (base && base !== output) joinViews(base, output);
  }
}

function isWhole({ holder, device, dtype, size, isContiguous }: Tensor): boolean {
  return isContiguous && holder!.bytes === size * device.elementBytes(dtype);
}
