/**
 * Reads and writes the content of Maps and Sets directly, past user methods and properties on them or in their
 * classes.
 */

import {
  append,
  apply,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  OwnMap,
  ownKeys,
} from '../vm/language/primordials.ts';
import { isProxy } from './plain.ts';

export type CollectionType = 'Map' | 'Set' | 'WeakMap' | 'WeakSet';

const prototypes: Readonly<Record<CollectionType, object>> = {
  Map: Map.prototype,
  Set: Set.prototype,
  WeakMap: WeakMap.prototype,
  WeakSet: WeakSet.prototype,
};

/** The built-in prototypes, including that of WeakRef. */
export const collectionPrototypes: Readonly<Record<CollectionType | 'WeakRef', object>> = {
  ...prototypes,
  WeakRef: WeakRef.prototype,
};

const collectionTypes = new OwnMap<unknown, CollectionType>(
  Object.entries(prototypes).map(([type, prototype]) => [prototype, type as CollectionType]),
);

type Native = (...args: never[]) => unknown;
type Methods = Readonly<Record<string, Native>>;

const methodsOf = (prototype: object): Methods =>
  Object.fromEntries(
    ownKeys(prototype).flatMap((key) => {
      const { get, value } = getOwnPropertyDescriptor(prototype, key)!;
      const method: unknown = get ?? value;
      return typeof key === 'string' && typeof method === 'function'
        ? [[key, method as Native]]
        : [];
    }),
  );

const natives: Readonly<Record<CollectionType, Methods>> = {
  Map: methodsOf(Map.prototype),
  Set: methodsOf(Set.prototype),
  WeakMap: methodsOf(WeakMap.prototype),
  WeakSet: methodsOf(WeakSet.prototype),
};

/** Returns the type of a built-in collection or of an instance of a user's subclass; undefined for other objects. */
export function collectionType(value: object): CollectionType | undefined {
  for (let above = getPrototypeOf(value); above && !isProxy(above); above = getPrototypeOf(above)) {
    const type = collectionTypes.get(above);
    if (type) return holds(type, value) ? type : undefined;
  }
  return undefined;
}

/** Whether the object has the internal slots: it may only inherit from the class. */
function holds(type: CollectionType, value: object): boolean {
  try {
    apply(natives[type].has!, value, []);
    return true;
  } catch {
    return false;
  }
}

/** Whether the object is an instance of the built-in class itself, without own properties. */
export function isPlainCollection(value: object, type?: CollectionType): boolean {
  const found = collectionTypes.get(getPrototypeOf(value));
  if (found === undefined || found !== (type ?? found)) return false;
  return ownKeys(value).length === 0 && holds(found, value);
}

/** Whether it is the built-in `Symbol.species` getter, which returns the class itself. */
export const isSpeciesGetter = (get: unknown): boolean => speciesGetters.has(get);

const speciesGetters: ReadonlySet<unknown> = new Set(
  [Array, Map, Set].map((type) => getOwnPropertyDescriptor(type, Symbol.species)!.get),
);

/** Whether it is the built-in getter of the number of entries. */
export const isSizeGetter = (get: unknown): boolean =>
  get === natives.Map.size || get === natives.Set.size;

/** Calls the built-in method or getter. */
export function callNative(
  collection: object,
  method: string,
  ...args: readonly unknown[]
): unknown {
  return apply(natives[collectionType(collection)!][method]!, collection, args);
}

/** Returns the values of a Map, or the elements of a Set, in order. */
export function contentsOf(collection: object): unknown[] {
  const values: unknown[] = [];
  callNative(collection, 'forEach', (value: unknown) => append(values, value));
  return values;
}

/** Whether the keys of a Map are the numbers from 0 on, in order. */
export function countsUp(map: object): boolean {
  let next: number | null = 0;
  callNative(map, 'forEach', (_: unknown, key: unknown) => {
    if (next !== null) next = key === next ? next + 1 : null;
  });
  return next !== null;
}
