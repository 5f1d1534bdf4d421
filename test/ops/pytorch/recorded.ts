/** Values that PyTorch computed, as they lie in the `data` folders. */

import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { DType } from '../../../runtime/spec/dtype.ts';
import { newTypedArray } from '../../../runtime/spec/dtype.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { expectClose, type Tensor, type Tolerance, tensor } from '../eager.ts';

export interface RecordedTensor {
  /** Row-major; NaN and infinities as strings. */
  readonly tensor: readonly (number | boolean | string)[];
  readonly shape: Shape;
  readonly dtype: DType;
  /** Has an entry in the record's gradients. */
  readonly grad?: boolean;
}

/** The record in a dtype that the library has: PyTorch computed it in float64 and counts in int64. */
export function inDtype(record: RecordedTensor): RecordedTensor {
  const dtypes: Readonly<Record<string, DType>> = { float64: 'float32', int64: 'int32' };
  return { ...record, dtype: dtypes[record.dtype] ?? record.dtype };
}

/** One record per line. */
export function readRecords<T>(file: URL): T[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as T);
}

export function isRecordedTensor(value: unknown): value is RecordedTensor {
  return typeof value === 'object' && value !== null && 'tensor' in value;
}

export function toTensor(record: RecordedTensor): Tensor {
  const { shape, dtype } = record;
  const values = newTypedArray(dtype, record.tensor.length);
  values.set(record.tensor.map(Number));
  return tensor(values, { shape, dtype, requiresGrad: record.grad ?? false });
}

export function expectRecorded(
  actual: Tensor,
  expected: RecordedTensor,
  what: string,
  tolerance?: Tolerance,
): void {
  expect(actual.shape, `${what}: shape`).toEqual(expected.shape);
  expect(actual.dtype, `${what}: dtype`).toBe(expected.dtype);
  expectClose(actual.dataSync(), expected.tensor.map(Number), what, tolerance);
}
