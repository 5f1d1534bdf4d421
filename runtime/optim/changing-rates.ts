/** Numbers that schedules and optimizers set between steps: a captured step has them as inputs from its first trace on. */

const changing = new WeakMap<object, Set<string>>();

/** The property will be another number at the next step. */
export function noteChanging(object: object, key: string): void {
  const keys = changing.get(object);
  if (keys) keys.add(key);
  else changing.set(object, new Set([key]));
}

export function isChangingRate(object: object, key: string | symbol): boolean {
  return typeof key === 'string' && changing.get(object)?.has(key) === true;
}
