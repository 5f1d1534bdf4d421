import { bind1 } from '../ops/bind.ts';
import { copy } from '../ops/copy.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Slot } from './scope.ts';

/** Puts a tensor into a scope: one more owner, or a contiguous copy that the scope alone owns. */
export function enter(slot: Slot, tensor: Tensor): void {
  const holder = tensor.holderFor('run_program');
  if (tensor.isContiguous) {
    slot.put(holder.retain(), tensor.offset);
    return;
  }
  const copied = bind1(copy, [tensor.requiresGrad ? tensor.detach() : tensor]);
  slot.put(copied.holder!.retain(), copied.offset);
  copied.dispose();
}
