/**
 * `structuredClone(value)` of plain objects, arrays, Maps, Sets and dates. Values that can't be cloned are left to
 * the native function.
 */

export function structured(value: unknown): unknown {
  const clones = new Map<unknown, unknown>();
  const clone = (given: unknown): unknown => {
    if (typeof given !== 'object' || given === null) return given;
    const known = clones.get(given);
    if (known !== undefined) return known;
    if (given instanceof Date) {
      const date = new Date(given);
      clones.set(given, date);
      return date;
    }
    if (given instanceof Map) {
      const map = new Map<unknown, unknown>();
      clones.set(given, map);
      const entries = [...given.entries()];
      for (const [key, item] of entries) map.set(clone(key), clone(item));
      return map;
    }
    if (given instanceof Set) {
      const set = new Set<unknown>();
      clones.set(given, set);
      for (const item of [...given.values()]) set.add(clone(item));
      return set;
    }
    const isArray = Array.isArray(given);
    const above: unknown = isArray ? null : Object.getPrototypeOf(given);
    if (above !== null && above !== Object.prototype) throw new RangeError('it cannot be cloned');
    const copy: Record<string, unknown> | unknown[] = isArray
      ? new Array<unknown>(given.length)
      : {};
    clones.set(given, copy);
    for (const key of Object.keys(given)) {
      (copy as Record<string, unknown>)[key] = clone((given as Record<string, unknown>)[key]);
    }
    return copy;
  };
  return clone(value);
}
