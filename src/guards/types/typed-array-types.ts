/** The built-in typed arrays. */

import type { TypedArray } from '../../../runtime/spec/dtype.ts';

export interface TypedArrayConstructor {
  new (length: number): TypedArray;
  from(items: Iterable<number>): TypedArray;
  of(...items: number[]): TypedArray;
}

/** Those of numbers. */
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

/** The prototype that all types of typed arrays share. */
export const typedArrayPrototype = Object.getPrototypeOf(Int8Array.prototype) as object;

const readTag = Object.getOwnPropertyDescriptor(typedArrayPrototype, Symbol.toStringTag)!
  .get as () => string | undefined;

/** Returns whether methods of typed arrays accept the value, whatever its prototype is. */
export const isTypedArray = (value: unknown): boolean =>
  Reflect.apply(readTag, value, []) !== undefined;
