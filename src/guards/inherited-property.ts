import type { InheritedProperty } from './guard.ts';

/** The cheapest question for a getter, own or inherited. */
export const { __lookupGetter__: lookupGetter } = Object.prototype as unknown as {
  __lookupGetter__(this: unknown, key: PropertyKey): (() => unknown) | undefined;
};

/** Returns the property that a name leads to on an object, own or inherited; no getter is called. */
export function inheritedProperty(object: object, key: string | symbol): InheritedProperty {
  const getter = lookupGetter.call(object, key);
  const value = getter ? undefined : (object as Record<string | symbol, unknown>)[key];
  return { key, getter, value };
}

/** Whether the name leads to the same value or getter now. */
export function isInherited(object: object, { key, getter, value }: InheritedProperty): boolean {
  if (lookupGetter.call(object, key) !== getter) return false;
  return getter !== undefined || (object as Record<string | symbol, unknown>)[key] === value;
}
