/** Results of data-dependent shape, returned to callers as ordinary tensors. */

import { noGrad } from '../autograd/grad-mode.ts';
import { DynamicTensor } from '../device/dynamic-tensor.ts';
import { contiguousMeta, type TensorMeta } from '../device/tensor-meta.ts';
import { contiguous } from '../ops/movement/movement.ts';
import type { DType } from '../spec/dtype.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Slot } from './scope/scope.ts';

/** Returns a tensor handle to the result. */
export function takeDynamic({ data, shape, device }: DynamicTensor, dtype: DType): Tensor {
  const { holder, offset } = data;
  return new Tensor({ ...contiguousMeta({ dtype, shape }, device), offset }, holder.retain());
}

/** Whether the tensor represents a value of unknown shape (`dynamicSpec`). */
export function isDynamic({ shape }: TensorMeta, { rank }: Tensor): boolean {
  return shape.length === rank + 1 && shape[0] === 0;
}

/** Puts the gradient of a result of data-dependent shape into a slot. */
export function enterDynamic(slot: Slot, gradient: Tensor): void {
  const data = noGrad(() => contiguous(gradient));
  const { shape, offset, device } = data;
  const holder = data.holderFor('run_program').retain();
  if (data !== gradient) data.dispose();
  slot.put(new DynamicTensor(device, { holder, offset }, shape), 0);
}
