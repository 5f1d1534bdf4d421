const { hasOwn } = Object;

/**
 * Whether an object of a union of types has the field itself. `'key' in object` would also find what a page has put on
 * `Object.prototype`.
 */
export const owns = <T extends object, K extends PropertyKey>(
  object: T,
  key: K,
): object is Extract<T, Readonly<Record<K, unknown>>> => hasOwn(object, key);
