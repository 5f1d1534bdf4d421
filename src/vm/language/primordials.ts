/**
 * Built-in functions as of when this file is loaded: user code may replace them later, which must not change the
 * behavior of instructions.
 */

export const { apply, construct, get, set, ownKeys, getOwnPropertyDescriptor, deleteProperty } =
  Reflect;
/** ToObject, as a function. */
export const toObject = Object as (value: unknown) => object;
export const { defineProperty, getPrototypeOf, setPrototypeOf, freeze, create } = Object;
const { hasOwn } = Object;
export const isArray = Array.isArray;
const getFrom = WeakMap.prototype.get;
const setIn = WeakMap.prototype.set;

export function weakGet<K extends object, V>(map: WeakMap<K, V>, key: K): V | undefined {
  return apply(getFrom, map, [key]) as V | undefined;
}

export function weakSet<K extends object, V>(map: WeakMap<K, V>, key: K, value: V): void {
  apply(setIn, map, [key, value]);
}

/** A Map with keys from user code. It is unaffected by later changes to `Map.prototype`. */
export class OwnMap<K, V> extends Map<K, V> {}
/** A Set with elements from user code, unaffected by changes to `Set.prototype`. */
export class OwnSet<T> extends Set<T> {}
keepMethods(OwnMap.prototype, Map.prototype);
keepMethods(OwnSet.prototype, Set.prototype);

function keepMethods(prototype: object, from: object): void {
  for (const key of ownKeys(from)) {
    if (key !== 'constructor') defineProperty(prototype, key, getOwnPropertyDescriptor(from, key)!);
  }
}

/**
 * Whether an object of a union of types has the field itself. `'key' in object` would also find properties that a page
 * added to `Object.prototype`.
 */
export const owns = <T extends object, K extends PropertyKey>(
  object: T,
  key: K,
): object is Extract<T, Readonly<Record<K, unknown>>> => hasOwn(object, key);

export const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** Returns a descriptor without a prototype; otherwise `Object.prototype.get` would act as its getter. */
export function descriptor(fields: PropertyDescriptor): PropertyDescriptor {
  return { __proto__: null, ...fields } as PropertyDescriptor;
}

const arrayPrototype = Array.prototype;
const objectPrototype = Object.prototype;

/** Appends an element to an array of this realm, regardless of what its prototypes contain. */
export function append(array: unknown[], value: unknown): void {
  const index = array.length;
  // Calls no trap for the element: a Proxy may be between the two prototypes.
  if (getPrototypeOf(arrayPrototype) !== objectPrototype || index in array) {
    defineProperty(
      array,
      index,
      descriptor({ value, writable: true, enumerable: true, configurable: true }),
    );
  } else array[index] = value;
}

/** Returns argument number `index` of a call. A missing argument isn't read from the array prototype either. */
export const argumentAt = (args: readonly unknown[], index: number): unknown =>
  index < args.length ? args[index] : undefined;

const { get: readDescription } = getOwnPropertyDescriptor(Symbol.prototype, 'description')!;

export const descriptionOf = (symbol: symbol): string | undefined =>
  apply(readDescription!, symbol, []) as string | undefined;

/** Returns `arguments` as an array. */
export function listOf(values: ArrayLike<unknown>): unknown[] {
  const list: unknown[] = [];
  for (let i = 0; i < values.length; i++) append(list, values[i]);
  return list;
}
