/**
 * Numbers that schedules and optimizers set between steps: they are inputs of a captured step from its first trace on.
 */

const changing = new WeakMap<object, Map<string | symbol, string | null>>();

/** Marks a property whose value will differ at the next step, or one element of its array. */
export function noteChanging(object: object, key: string, element: string | null = null): void {
  changing.set(object, (changing.get(object) ?? new Map()).set(key, element));
}

/** Whether a number read from the property changes. An array read from it is marked for the reads of its elements. */
export function isChangingRate(object: object, key: string | symbol): boolean {
  const element = changing.get(object)?.get(key);
  if (element) noteChanging(Reflect.get(object, key) as object, element);
  return element === null;
}
