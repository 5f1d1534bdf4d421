/** Batches of tensors, from samples or from a worker's messages. */

import { tensor } from '../ops/core/create.ts';
import { stack } from '../ops/movement/joining.ts';
import { expectList } from '../ops/record/expect-tensors.ts';
import type { DType, TypedArray } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { collate, disposable, isPlainObject, type Leaves } from './collate.ts';
import { isHostTensor, mapped } from './host-batch.ts';

const tensorLeaves: Leaves<Tensor> = { ofTensors: stack, ofValues };

function ofValues(values: TypedArray, shape: Shape, dtype?: DType): Tensor {
  return tensor(values, dtype ? { shape, dtype } : { shape });
}

/**
 * Collates samples of the same form: numbers become float32 [n], booleans bool [n], typed arrays [n, length] of their
 * dtype, and tensors are stacked. Arrays and plain objects are collated entry by entry; strings become an array.
 * `using` frees the batch.
 */
export function defaultCollate(samples: readonly unknown[]): unknown {
  expectList('defaultCollate', 'samples', samples);
  return disposable(collate(samples, tensorLeaves));
}

/** Creates a worker's batch on the current device; `using` frees it. */
export function fromHost(value: unknown): unknown {
  if (isHostTensor(value)) return ofValues(value.values, value.shape, value.dtype);
  const result = mapped(value, fromHost);
  return isPlainObject(result) || Array.isArray(result) ? disposable(result) : result;
}
