import type { InheritedProperty } from './guard.ts';

/** The cheapest way to find a getter, own or inherited. */
export const { __lookupGetter__: lookupGetter } = Object.prototype as unknown as {
  __lookupGetter__(this: unknown, key: PropertyKey): (() => unknown) | undefined;
};

/** Returns the property that a name resolves to on an object, own or inherited, without calling a getter. */
export function inheritedProperty(object: object, key: string | symbol): InheritedProperty {
  const getter = lookupGetter.call(object, key);
  const value = getter ? undefined : (object as Record<string | symbol, unknown>)[key];
  return { key, getter, value };
}

/** Whether the name still resolves to the same value or getter. */
export function isInherited(object: object, { key, getter, value }: InheritedProperty): boolean {
  if (lookupGetter.call(object, key) !== getter) return false;
  return getter !== undefined || (object as Record<string | symbol, unknown>)[key] === value;
}
