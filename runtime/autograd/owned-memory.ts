import type { Tensor } from '../tensor/tensor.ts';

/** Nobody else holds the tensor's memory, and it is all of it: it may be written over. */
export function ownsWholeHolder({ holder, device, dtype, size, isContiguous }: Tensor): boolean {
  if (!holder) return false;
  const bytes = size * device.elementBytes(dtype);
  return holder.owners === 1 && holder.bytes === bytes && isContiguous;
}
