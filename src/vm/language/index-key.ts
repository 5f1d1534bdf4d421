/** Returns whether the key is an array index: `'01'` is an ordinary property. */
export function isIndex(key: string | symbol): boolean {
  return typeof key === 'string' && /^(?:0|[1-9]\d*)$/.test(key);
}

/** Returns the key to read a property by: an element is read faster by a number than by a string. */
export function fastKey(key: string | symbol): PropertyKey {
  return isIndex(key) && (key as string).length < 10 ? Number(key) : key;
}
