/** Batches on their way from a worker: plain data instead of tensors. */

import type { DType, TypedArray } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import { isTensor } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { isPlainObject, type Leaves } from './collate.ts';

const mark = 'tostatic:host';

/** Data from which a tensor is created in another thread. */
export interface HostTensor {
  readonly [mark]: true;
  readonly values: TypedArray;
  readonly shape: Shape;
  /** The dtype; by default that of the array. */
  readonly dtype?: DType;
}

function hostTensor(values: TypedArray, shape: Shape, dtype?: DType): HostTensor {
  return { [mark]: true, values, shape, ...(dtype && { dtype }) };
}

export function isHostTensor(value: unknown): value is HostTensor {
  return isPlainObject(value) && value[mark] === true;
}

export const hostLeaves: Leaves<HostTensor> = {
  ofTensors: (tensors) => {
    const [first] = tensors as [Tensor];
    const parts = tensors.map((own) => own.dataSync());
    const all = new (parts[0]!.constructor as new (length: number) => TypedArray)(
      first.numel() * tensors.length,
    );
    parts.forEach((part, i) => void all.set(part, i * first.numel()));
    return hostTensor(all, [tensors.length, ...first.shape], first.dtype);
  },
  ofValues: hostTensor,
};

/** Tensors in arrays and plain objects become plain data. */
export function toHost(value: unknown): unknown {
  if (typeof value === 'object' && value !== null && isTensor(value))
    return hostTensor(value.dataSync(), value.shape, value.dtype);
  return mapped(value, toHost);
}

/** A new array or object with every entry changed; anything else as it is. */
export function mapped(value: unknown, change: (own: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, change(own)]));
}

/** Memory that can be transferred instead of copied. */
export function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  else if (Array.isArray(value)) for (const own of value) buffersIn(own, found);
  else if (isPlainObject(value)) for (const own of Object.values(value)) buffersIn(own, found);
  return found;
}
