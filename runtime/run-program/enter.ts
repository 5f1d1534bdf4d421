import { noGrad } from '../autograd/grad-mode.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import { bind1 } from '../ops/core/bind.ts';
import { copy } from '../ops/core/copy.ts';
import { permute } from '../ops/movement/movement.ts';
import { isContiguous, memoryOrder } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { ownPlace } from './scope/identity.ts';
import type { Slot } from './scope/scope.ts';

/**
 * Puts a tensor into a scope: as an additional owner of its holder or, if the plan requires a contiguous tensor and
 * this one isn't, as a copy that only the scope owns.
 */
export function enter(
  slot: Slot,
  tensor: Tensor,
  { shape, strides }: TensorMeta,
  identity = ownPlace,
): void {
  const holder = tensor.holderFor('run_program');
  // Contiguous tensors fit: strides can differ only in dimensions of size 1.
  const fits =
    areEqual(tensor.strides, strides) || tensor.isContiguous || !isContiguous(shape, strides);
  if (fits) {
    slot.put(holder.retain(), tensor.offset, identity);
    return;
  }
  enterCopy(slot, tensor, identity);
}

function areEqual(one: readonly number[], other: readonly number[]): boolean {
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

/** Puts a compact copy, owned only by the scope, into it. The dimensions keep their memory order. */
export function enterCompact(
  slot: Slot,
  tensor: Tensor,
  _planned: TensorMeta,
  identity = ownPlace,
): void {
  noGrad(() => {
    // Not `using`: bundles of the sources also run in engines that lack it.
    const ordered = permute(tensor, memoryOrder(tensor.strides));
    try {
      enterCopy(slot, ordered, identity);
    } finally {
      ordered.dispose();
    }
  });
}

function enterCopy(slot: Slot, tensor: Tensor, identity: number): void {
  const copied = noGrad(() => bind1(copy, [tensor]));
  slot.put(copied.holder!.retain(), copied.offset, identity);
  copied.dispose();
}
