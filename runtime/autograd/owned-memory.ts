import type { Tensor } from '../tensor/tensor.ts';

/** Whether the tensor exclusively owns its memory and covers all of it, so that it may be overwritten. */
export function ownsWholeHolder(tensor: Tensor): boolean {
  const { holder, device, dtype } = tensor;
  if (!holder) return false;
  const bytes = tensor.numel() * device.elementBytes(dtype);
  return holder.owners === 1 && holder.bytes === bytes && tensor.isContiguous;
}
