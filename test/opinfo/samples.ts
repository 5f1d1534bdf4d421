/** PyTorch's own operator samples: inputs, outputs and gradients. */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { tensor } from '../../runtime/ops/core/create.ts';
import { permute } from '../../runtime/ops/movement/movement.ts';
import { type DType, dtypes, newTypedArray } from '../../runtime/spec/dtype.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { dtypeNamed } from './dtypes.ts';

export interface RecordedTensor {
  /** Row-major; NaN and infinities as strings. */
  readonly tensor: readonly (number | boolean | string)[];
  readonly shape: Shape;
  readonly dtype: string;
  /** Has an entry in the sample's gradients. */
  readonly grad: boolean;
  readonly contiguous: boolean;
}

export interface Sample {
  readonly op: string;
  readonly variant: string;
  readonly input: unknown;
  readonly args: readonly unknown[];
  readonly kwargs: Readonly<Record<string, unknown>>;
  readonly output: unknown;
  readonly gradOutputs?: readonly (RecordedTensor | null)[];
  /** Of the tensors with `grad`, in order of appearance in input, args and kwargs. */
  readonly grads?: readonly (RecordedTensor | null)[];
}

export function readSamples(file: URL): Sample[] {
  const lines = gunzipSync(readFileSync(file)).toString('utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Sample);
}

export function isRecordedTensor(value: unknown): value is RecordedTensor {
  return typeof value === 'object' && value !== null && 'tensor' in value && 'shape' in value;
}

/** Floating-point tensors in the given dtype, integers as int32; strides as recorded, or others. */
export function toTensor(recorded: RecordedTensor, floating: DType): Tensor {
  const own = dtypeNamed(recorded.dtype);
  const dtype = dtypes[own].floating ? floating : own;
  // Inputs are float32 numbers, printed with too few digits for float64.
  const numbers = recorded.tensor.map(
    recorded.dtype === 'float32' ? (value) => Math.fround(Number(value)) : Number,
  );
  if (recorded.contiguous || recorded.shape.length < 2) {
    return made(numbers, recorded.shape, dtype, recorded.grad);
  }
  // Row-major with the dimensions in reverse, read back in order.
  const reversed = recorded.shape.map((_, d) => d).reverse();
  const base = made(
    inReverse(numbers, recorded.shape),
    [...recorded.shape].reverse(),
    dtype,
    recorded.grad,
  );
  return permute(base, reversed);
}

function made(
  numbers: readonly number[],
  shape: Shape,
  dtype: DType,
  requiresGrad: boolean,
): Tensor {
  const values = newTypedArray(dtype, numbers.length);
  values.set(numbers);
  return tensor(values, { shape, dtype, requiresGrad });
}

/** The elements in column-major order. */
function inReverse(numbers: readonly number[], shape: Shape): number[] {
  const strides = shape.map((_, d) => shape.slice(0, d).reduce((a, b) => a * b, 1));
  const result = new Array<number>(numbers.length);
  numbers.forEach((value, i) => {
    let rest = i;
    let to = 0;
    for (let d = shape.length - 1; d >= 0; d--) {
      to += (rest % shape[d]!) * strides[d]!;
      rest = Math.floor(rest / shape[d]!);
    }
    result[to] = value;
  });
  return result;
}
