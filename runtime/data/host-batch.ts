/** Batches sent from a worker, with plain data instead of tensors. */

import type { DType, TypedArray } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import { isTensor } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { isPlainObject, type Leaves } from './collate.ts';

const mark = 'tostatic:host';

/** Plain data that becomes a tensor in another thread. */
interface HostTensor {
  readonly [mark]: true;
  readonly values: TypedArray;
  readonly shape: Shape;
  /** The dtype; defaults to the array's. */
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
    const parts = tensors.map((each) => each.dataSync());
    const all = new (parts[0]!.constructor as new (length: number) => TypedArray)(
      first.numel() * tensors.length,
    );
    parts.forEach((part, i) => void all.set(part, i * first.numel()));
    return hostTensor(all, [tensors.length, ...first.shape], first.dtype);
  },
  ofValues: hostTensor,
};

/** Converts tensors in arrays and plain objects to plain data. */
export function toHost(value: unknown): unknown {
  if (typeof value === 'object' && value !== null && isTensor(value))
    return hostTensor(value.dataSync(), value.shape, value.dtype);
  return mapped(value, toHost);
}

/** Returns an array or object with every entry mapped; any other value unchanged. */
export function mapped(value: unknown, change: (part: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, change(part)]));
}

/** Collects buffers that can be transferred instead of copied. */
export function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  else if (Array.isArray(value)) for (const each of value) buffersIn(each, found);
  else if (isPlainObject(value)) for (const each of Object.values(value)) buffersIn(each, found);
  return found;
}
