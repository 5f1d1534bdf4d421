/** A key that names an element: `'01'` names an ordinary property. */
export function isIndex(key: string | symbol): boolean {
  return typeof key === 'string' && /^(?:0|[1-9]\d*)$/.test(key);
}

/** The key to read a property by: an element is found faster by its number than by the text of it. */
export function fastKey(key: string | symbol): PropertyKey {
  return isIndex(key) && (key as string).length < 10 ? Number(key) : key;
}
