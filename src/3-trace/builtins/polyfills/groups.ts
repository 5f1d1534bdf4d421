/** `Object.groupBy` and `Map.groupBy` */

type KeyOf = (item: unknown, index: number) => unknown;

export function objectGroupBy(
  items: Iterable<unknown>,
  keyOf: KeyOf,
): Record<PropertyKey, unknown[]> {
  const groups = Object.create(null) as Record<PropertyKey, unknown[]>;
  let i = 0;
  for (const item of items) {
    // Converts the key once, as an object may do so with an effect.
    const key = Reflect.ownKeys({ [keyOf(item, i) as string]: 0 })[0]!;
    const group = groups[key];
    if (group === undefined) groups[key] = [item];
    else group.push(item);
    i++;
  }
  return groups;
}

export function mapGroupBy(items: Iterable<unknown>, keyOf: KeyOf): Map<unknown, unknown[]> {
  const groups = new Map<unknown, unknown[]>();
  let i = 0;
  for (const item of items) {
    const key = keyOf(item, i);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
    i++;
  }
  return groups;
}
