/**
 * `structuredClone(value)` of plain objects, arrays, Maps, Sets and dates. Values that can't be cloned are left to
 * the native function.
 */

export function structured(value: unknown): unknown {
  const clones = new Map<unknown, unknown>();
  const clone = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const known = clones.get(value);
    if (known !== undefined) return known;
    if (value instanceof Date) {
      const date = new Date(value);
      clones.set(value, date);
      return date;
    }
    if (value instanceof Map) {
      const map = new Map<unknown, unknown>();
      clones.set(value, map);
      const entries = [...value.entries()];
      for (const [key, item] of entries) map.set(clone(key), clone(item));
      return map;
    }
    if (value instanceof Set) {
      const set = new Set<unknown>();
      clones.set(value, set);
      for (const item of [...value.values()]) set.add(clone(item));
      return set;
    }
    const isArray = Array.isArray(value);
    const above: unknown = isArray ? null : Object.getPrototypeOf(value);
    if (above !== null && above !== Object.prototype) throw new RangeError('it cannot be cloned');
    const copy: Record<string, unknown> | unknown[] = isArray
      ? new Array<unknown>(value.length)
      : {};
    clones.set(value, copy);
    for (const key of Object.keys(value)) {
      (copy as Record<string, unknown>)[key] = clone((value as Record<string, unknown>)[key]);
    }
    return copy;
  };
  return clone(value);
}
