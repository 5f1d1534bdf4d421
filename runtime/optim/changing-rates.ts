/** Numbers that schedules and optimizers set between steps: inputs of a captured step from its first trace on. */

const changing = new WeakMap<object, Map<string, string | null>>();

/** Marks a property whose value will differ at the next step, or one element of the arrays that it will hold. */
export function noteChanging(object: object, key: string, element: string | null = null): void {
  const keys = changing.get(object);
  if (keys) keys.set(key, element);
  else changing.set(object, new Map([[key, element]]));
}

/** Whether a number read from the property changes. An array read from it is marked for the reads of its elements. */
export function isChangingRate(object: object, key: string | symbol): boolean {
  const element = typeof key === 'string' ? changing.get(object)?.get(key) : undefined;
  if (!element) return element === null;
  noteChanging(Reflect.get(object, key) as object, element);
  return false;
}
