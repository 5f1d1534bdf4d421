/** The built-in typed arrays of numbers. */

import type { TypedArray } from '../../../runtime/spec/dtype.ts';

export interface TypedArrayConstructor {
  new (length: number): TypedArray;
  from(items: Iterable<number>): TypedArray;
  of(...items: number[]): TypedArray;
}

export const typedArrayTypes: ReadonlySet<unknown> = new Set<unknown>([
  Float32Array,
  Float64Array,
  Int8Array,
  Int16Array,
  Int32Array,
  Uint8Array,
  Uint8ClampedArray,
  Uint16Array,
  Uint32Array,
]);
