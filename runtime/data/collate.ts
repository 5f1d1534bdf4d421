/** Collates samples into a batch: values at the same position become one tensor with a row per sample. */

import { DataError } from '../errors/errors.ts';
import type { DType, TypedArray } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import { isTensor, tensorsIn } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Constructors for the leaves of a batch. */
export interface Leaves<L> {
  readonly ofTensors: (tensors: readonly Tensor[]) => L;
  /** The dtype defaults to the array's. */
  readonly ofValues: (values: TypedArray, shape: Shape, dtype?: DType) => L;
}

/** Collates samples of the same form, by the rules of `defaultCollate`. */
export function collate<L>(samples: readonly unknown[], leaves: Leaves<L>): unknown {
  const [first] = samples;
  const n = samples.length;
  if (isTensorSample(first)) return leaves.ofTensors(allOf(samples, isTensorSample));
  if (typeof first === 'number') {
    const values = Float32Array.from(allOf(samples, isNumber));
    return leaves.ofValues(values, [n], 'float32');
  }
  if (typeof first === 'boolean') {
    return leaves.ofValues(Uint8Array.from(allOf(samples, isBoolean), Number), [n], 'bool');
  }
  if (typeof first === 'string') return allOf(samples, isString);
  if (isTypedArray(first)) return ofRows(allOf(samples, isTypedArray), leaves);
  if (Array.isArray(first)) {
    const rows = allOf(samples, (each): each is unknown[] => hasLength(each, first.length));
    return first.map((_, i) => collate(column(rows, i), leaves));
  }
  if (isPlainObject(first)) {
    const rows = allOf(samples, isPlainObject);
    const entries = Object.keys(first).map((key) => [key, collate(column(rows, key), leaves)]);
    return Object.fromEntries(entries);
  }
  throw unfit(first);
}

function column<K extends number | string>(rows: readonly object[], key: K): unknown[] {
  return rows.map((row) => (row as Readonly<Record<K, unknown>>)[key]);
}

function ofRows<L>(rows: readonly TypedArray[], { ofValues }: Leaves<L>): L {
  const { length } = rows[0]!;
  const Type = rows[0]!.constructor as new (length: number) => TypedArray;
  const values = new Type(rows.length * length);
  rows.forEach((row, i) => {
    if (row.length !== length || row.constructor !== Type) throw unfit(row);
    values.set(row, i * length);
  });
  return ofValues(values, [rows.length, length]);
}

function allOf<T>(samples: readonly unknown[], is: (sample: unknown) => sample is T): T[] {
  const strange = samples.find((each) => !is(each));
  if (strange !== undefined || samples.includes(undefined)) throw unfit(strange);
  return samples as T[];
}

// Checks its members, so that a worker that creates no tensors doesn't load the tensor module.
const isTensorSample = (value: unknown): value is Tensor =>
  typeof value === 'object' && value !== null && isTensor(value);
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isString = (value: unknown): value is string => typeof value === 'string';
const isTypedArray = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

function hasLength(value: unknown, length: number): value is unknown[] {
  return Array.isArray(value) && value.length === length;
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function unfit(sample: unknown): DataError {
  const kind = sample === null ? 'null' : Array.isArray(sample) ? 'array' : typeof sample;
  const name = kind === 'object' ? (sample as object).constructor?.name : kind;
  return new DataError({
    what: "DataLoader: samples that don't fit into a batch",
    given: `a sample with a ${name} of another form than the first, or of no known form`,
    expected: 'numbers, booleans, strings, typed arrays or tensors, in arrays and objects alike',
    remedy: 'let get() return the same form each time, or pass a collate function',
  });
}

/** Lets `using` free every tensor of a batch. A batch that is a single tensor already supports it. */
export function disposable<T>(batch: T): T & Disposable {
  if (typeof batch === 'object' && batch !== null && !(Symbol.dispose in batch)) {
    Object.defineProperty(batch, Symbol.dispose, {
      value: () => {
        for (const each of tensorsIn(batch)) each.dispose();
      },
    });
  }
  return batch as T & Disposable;
}
