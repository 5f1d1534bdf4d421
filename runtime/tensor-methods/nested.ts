import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { select } from '../ops/movement/movement.ts';
import type { DType } from '../spec/dtype.ts';
import { numbersOf } from '../spec/stored-numbers.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { data, dataSync, readSync } from './read.ts';

/** A tensor's values: one number, or nested arrays; booleans for bool. */
export type Nested<D extends DType = DType> = Value<D> | Nested<D>[];
type Value<D extends DType> = D extends 'bool' ? boolean : number;

function nested(values: ArrayLike<number>, { shape, dtype }: Tensor): Nested {
  let at = 0;
  const level = (dim: number): Nested => {
    if (dim < shape.length) return Array.from({ length: shape[dim]! }, () => level(dim + 1));
    const value = values[at++]!;
    return dtype === 'bool' ? value !== 0 : value;
  };
  return level(0);
}

export async function toArray(x: Tensor): Promise<Nested> {
  return nested(numbersOf(await data(x), x.dtype), x);
}

export function toArraySync(x: Tensor): Nested {
  return nested(numbersOf(readSync(x, 'toArraySync'), x.dtype), x);
}

/** Yields views of the entries of the first dimension, from index `first` on; the caller disposes each. */
export function* entries(x: Tensor, first = 0): Generator<Tensor> {
  if (x.rank === 0) {
    throw new ShapeError({
      what: 'iteration: a scalar has no entries',
      given: formatSpec(x),
      expected: 'at least one dimension',
      remedy: 'read its value with itemSync()',
    });
  }
  for (let i = first; i < x.shape[0]!; i++) yield select(x, 0, i);
}

/** Tensors with more values are summarized. */
const mostShown = 1000;

/** Values in JSON form: numbers that JSON lacks are the strings 'NaN', 'Infinity' and '-Infinity'. */
export type JsonNested = number | boolean | string | JsonNested[];

export interface TensorSummary {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly device: string;
  readonly requiresGrad: boolean;
  /** Null for more than 1000 values, or if they can't be read synchronously. */
  readonly values: JsonNested | null;
  /** The minimum of the finite values; null if there are none. */
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly nan: number;
  readonly infinite: number;
}

/** Returns the value that `JSON.stringify` writes for a tensor. */
export function summary(x: Tensor): TensorSummary {
  const { dtype, shape, device, requiresGrad } = x;
  const facts = { dtype, shape, device: device.name, requiresGrad };
  if (!x.holder || device.kind !== 'cpu') {
    return { ...facts, values: null, min: null, max: null, mean: null, nan: 0, infinite: 0 };
  }
  const numbers = numbersOf(dataSync(x), dtype);
  const values = numbers.length > mostShown ? null : jsonSafe(nested(numbers, x));
  return { ...facts, values, ...statistics(numbers) };
}

function statistics(numbers: ArrayLike<number>) {
  let [min, max, sum, nan, infinite] = [Infinity, -Infinity, 0, 0, 0];
  for (let i = 0; i < numbers.length; i++) {
    const value = numbers[i]!;
    if (Number.isNaN(value)) nan++;
    else if (!Number.isFinite(value)) infinite++;
    else {
      min = Math.min(min, value);
      max = Math.max(max, value);
      sum += value;
    }
  }
  const count = numbers.length - nan - infinite;
  if (count === 0) return { min: null, max: null, mean: null, nan, infinite };
  return { min, max, mean: sum / count, nan, infinite };
}

function jsonSafe(values: Nested): JsonNested {
  if (Array.isArray(values)) return values.map(jsonSafe);
  return typeof values === 'boolean' || Number.isFinite(values) ? values : String(values);
}
