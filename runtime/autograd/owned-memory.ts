import type { Tensor } from '../tensor/tensor.ts';

/** Nobody else holds the tensor's memory, and it is all of it: it may be written over. */
export function ownsWholeHolder(tensor: Tensor): boolean {
  const { holder, device, dtype } = tensor;
  if (!holder) return false;
  const bytes = tensor.numel() * device.elementBytes(dtype);
  return holder.owners === 1 && holder.bytes === bytes && tensor.isContiguous;
}
