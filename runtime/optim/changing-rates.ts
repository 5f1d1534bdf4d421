/** Numbers that schedules and optimizers set between steps: inputs of a captured step from its first trace on. */

const changing = new WeakMap<object, Set<string>>();

/** Marks a property whose value will differ at the next step. */
export function noteChanging(object: object, key: string): void {
  const keys = changing.get(object);
  if (keys) keys.add(key);
  else changing.set(object, new Set([key]));
}

export function isChangingRate(object: object, key: string | symbol): boolean {
  return typeof key === 'string' && changing.get(object)?.has(key) === true;
}
