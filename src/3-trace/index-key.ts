/** A key that names an element: `'01'` names an ordinary property. */
export function isIndex(key: string | symbol): boolean {
  return typeof key === 'string' && /^(?:0|[1-9]\d*)$/.test(key);
}
