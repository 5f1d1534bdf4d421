/**
 * The built-in functions as of loading this file. Users may replace them: captured code then calls theirs like any
 * other function, but code that is traced in place of a native function uses the originals.
 */

import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { typedArrayTypes } from '../../guards/types/typed-array-types.ts';

type Place = readonly [holder: object, original: unknown];

const iterators = [[].values(), new Map().values(), new Set().values(), ''[Symbol.iterator]()];

const typedArrays = [...typedArrayTypes] as Float32ArrayConstructor[];

const holders: readonly object[] = [
  ...[Object, Function, Array, String, Number, Boolean, Symbol, RegExp, Promise, Error],
  ...[Map, Set, WeakMap, WeakSet, ArrayBuffer, DataView, ...typedArrays],
  ...[Date, BigInt, URL, URLSearchParams, TextEncoder, Intl.NumberFormat, Intl.DateTimeFormat],
].flatMap((type): object[] => [type, type.prototype as object]);

const others: readonly object[] = [
  Math,
  JSON,
  Reflect,
  Object.getPrototypeOf(Float32Array.prototype) as object,
  Object.getPrototypeOf(function* () {}.prototype) as object,
  Object.getPrototypeOf(Object.getPrototypeOf(iterators[0])) as object,
  ...iterators.map((iterator) => Object.getPrototypeOf(iterator) as object),
];

const places = new Map<PropertyKey, Place[]>();
for (const holder of [...holders, ...others]) {
  for (const key of Reflect.ownKeys(holder)) {
    const original: unknown = Object.getOwnPropertyDescriptor(holder, key)?.value;
    if (typeof original !== 'function') continue;
    getOrInsert(places, key, () => []).push([holder, original]);
  }
}

/** Returns the built-in object's original function of this name, own or inherited. */
export function originalFunction(object: object, key: PropertyKey): unknown {
  for (
    let holder: object | null = object;
    holder;
    holder = Object.getPrototypeOf(holder) as object | null
  ) {
    const original = ownOriginal(holder, key);
    if (original) return original;
    if (Object.hasOwn(holder, key)) return undefined;
  }
  return undefined;
}

export const ownOriginal = (holder: object, key: PropertyKey): unknown =>
  places.get(key)?.find(([each]) => each === holder)?.[1];
