/**
 * Queries about an object that run no user code. Apart from `target` and `fromEnd`, they return a primitive. A query that
 * throws is a miss.
 */

import { callNative, countsUp } from './collection-slots.ts';
import { type HostTypeName, hostType, readDate } from './host-types.ts';
import { lookupGetter } from './inherited-property.ts';
import { hasBareTensors, listLayout, statePlacesIn } from './list-layout.ts';
import { isProxy } from './plain.ts';
import { isTypedArray } from './types/typed-array-types.ts';

const names = (object: object): string => JSON.stringify(Object.getOwnPropertyNames(object));

/** Attributes of an own property, as text; undefined if there is none. */
function attributes(object: object, key: PropertyKey | undefined): string | undefined {
  const descriptor = Object.getOwnPropertyDescriptor(object, key!);
  if (!descriptor) return undefined;
  const { enumerable, configurable, writable } = descriptor;
  return JSON.stringify({ enumerable, configurable, writable, isData: 'value' in descriptor });
}

const [readSource, readFlags] = (['source', 'flags'] as const).map(
  (key) => Object.getOwnPropertyDescriptor(RegExp.prototype, key)!.get!,
) as [() => string, () => string];

/** A regular expression as text; undefined for other objects, and if it has user-defined properties. */
export function printRegExp(object: object): string | undefined {
  const isPlain =
    Object.getPrototypeOf(object) === RegExp.prototype && Reflect.ownKeys(object).length === 1;
  if (!isPlain) return undefined;
  try {
    return `/${Reflect.apply(readSource, object, [])}/${Reflect.apply(readFlags, object, [])}`;
  } catch {
    return undefined;
  }
}

function elementFromEnd(array: object, distance?: PropertyKey): unknown {
  const index = (array as readonly unknown[]).length - Number(distance);
  const isAccessor = lookupGetter.call(array, index) !== undefined;
  return isAccessor ? undefined : (array as readonly unknown[])[index];
}

const { deref: derefTarget } = WeakRef.prototype;

const queries = {
  isFrozen: Object.isFrozen,
  isSealed: Object.isSealed,
  isExtensible: Object.isExtensible,
  names,
  attributes,
  isView: (object: object): boolean => ArrayBuffer.isView(object),
  isTypedArray: (object: object): boolean => isTypedArray(object),
  tensors: listLayout,
  bareTensors: hasBareTensors,
  /** The indices of an array's elements that are modules or their state. */
  statePlaces: statePlacesIn,
  /** The element of an array at the distance `key` from its end, which is 1 for the last one. */
  fromEnd: elementFromEnd,
  /** The object that a WeakRef refers to, if it is alive. */
  target: (object: object) => derefTarget.call(object as WeakRef<WeakKey>),
  /** The number of entries of a Map or Set. */
  entries: (object: object) => callNative(object, 'size') as number,
  /** Whether the keys of a Map are the numbers from 0 on, in order. */
  countsUp,
  /** The state of an instance of the built-in type `key`. */
  hostState: (object: object, key?: PropertyKey) => hostType(key as HostTypeName).state(object),
  /** The result of the date method `key`, in the current time zone. */
  date: readDate,
  /** Pattern and flags: `compile()` changes them. */
  regExp: printRegExp,
} as const satisfies Record<string, (object: object, key?: PropertyKey) => unknown>;

export type Query = keyof typeof queries;

/** Throws for a Proxy, whose handler would run: a miss. */
export function ask(query: Query, object: object, key?: PropertyKey): unknown {
  if (isProxy(object)) throw new TypeError('a Proxy is asked');
  return queries[query](object, key);
}
