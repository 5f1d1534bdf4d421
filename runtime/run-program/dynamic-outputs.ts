/** Results of a program of data-dependent shape: ordinary tensors for who has asked for them. */

import { noGrad } from '../autograd/grad-mode.ts';
import { DynamicTensor } from '../device/dynamic-tensor.ts';
import { contiguousMeta, type TensorMeta } from '../device/tensor-meta.ts';
import { contiguous } from '../ops/movement/movement.ts';
import type { DType } from '../spec/dtype.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Slot } from './scope/scope.ts';

/** A handle on it. */
export function takeDynamic({ data, shape, device }: DynamicTensor, dtype: DType): Tensor {
  const { holder, offset } = data;
  return new Tensor({ ...contiguousMeta({ dtype, shape }, device), offset }, holder.retain());
}

/** Whether the tensor represents a value of which the program does not know the shape (`dynamicSpec`). */
export function isDynamic({ shape }: TensorMeta, { rank }: Tensor): boolean {
  return shape.length === rank + 1 && shape[0] === 0;
}

/** The gradient of such a result as a value of the program. */
export function enterDynamic(slot: Slot, gradient: Tensor): void {
  const data = noGrad(() => contiguous(gradient));
  const { shape, offset, device } = data;
  const holder = data.holderFor('run_program').retain();
  if (data !== gradient) data.dispose();
  slot.put(new DynamicTensor(device, { holder, offset }, shape), 0);
}
