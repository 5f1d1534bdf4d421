interface Table<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** Returns the value of a key; if there is none, first inserts the value that `make` returns. */
export function getOrInsert<K, V>(table: Table<K, V>, key: K, make: () => V): V {
  const found = table.get(key);
  if (found !== undefined) return found;
  const value = make();
  table.set(key, value);
  return value;
}
