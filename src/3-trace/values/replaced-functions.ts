/**
 * User functions that have replaced built-in ones. This package calls them too while it traces, so they are never
 * captured and run natively, like the originals. Replaced clocks and random number generators are captured, since
 * this package's own calls of them don't affect the trace.
 */

import { numberCalls } from '../../../runtime/ops/numbers/number-calls.ts';
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

const isNumberSource = (fn: unknown): boolean => Object.values<unknown>(numberCalls).includes(fn);

const places = new Map<PropertyKey, Place[]>();
for (const holder of [...holders, ...others]) {
  for (const key of Reflect.ownKeys(holder)) {
    const original: unknown = Object.getOwnPropertyDescriptor(holder, key)?.value;
    if (typeof original !== 'function' || isNumberSource(original)) continue;
    const known = places.get(key);
    if (known) known.push([holder, original]);
    else places.set(key, [[holder, original]]);
  }
}

const replacements = new WeakSet<object>();

/** Called with each function that is read as a property. */
export function noteFunctionRead(key: PropertyKey, fn: object): void {
  for (const [holder, original] of places.get(key) ?? []) {
    if (fn !== original && Object.getOwnPropertyDescriptor(holder, key)?.value === fn) {
      replacements.add(fn);
    }
  }
}

/**
 * Returns the built-in object's original function of this name, own or inherited, as of when this file was loaded.
 */
export function originalFunction(object: object, key: PropertyKey): unknown {
  for (
    let holder: object | null = object;
    holder;
    holder = Object.getPrototypeOf(holder) as object | null
  ) {
    const place = places.get(key)?.find(([each]) => each === holder);
    if (place) return place[1];
    if (Object.hasOwn(holder, key)) return undefined;
  }
  return undefined;
}

export function replacesBuiltin(fn: object): boolean {
  return replacements.has(fn);
}
