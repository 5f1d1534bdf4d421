import { attach, targetOf } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { gradEnabled } from './grad-mode.ts';

/** Returns another handle to the same value; while gradients are recorded, at the same place in the graph. */
export function share(tensor: Tensor): Tensor {
  const handle = tensor.detach();
  return gradEnabled() ? attach(handle, targetOf(tensor)) : handle;
}
