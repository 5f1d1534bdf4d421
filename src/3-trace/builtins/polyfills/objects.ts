/** Native functions on objects, written after the specification. */

export function isAbove(this: object, value: unknown): boolean {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  if (!isObject) return false;
  let above: unknown = Object.getPrototypeOf(value);
  while (above !== null) {
    if (above === this) return true;
    above = Object.getPrototypeOf(above);
  }
  return false;
}

export function isEnumerable(this: object, key: PropertyKey): boolean {
  return Object.getOwnPropertyDescriptor(this, key)?.enumerable === true;
}

export function getOwnPropertyDescriptors(object: object): Record<PropertyKey, unknown> {
  const result: Record<PropertyKey, unknown> = {};
  for (const key of Reflect.ownKeys(object)) {
    result[key] = Object.getOwnPropertyDescriptor(object, key);
  }
  return result;
}

export function construct(
  type: new (...args: unknown[]) => unknown,
  args: ArrayLike<unknown>,
): unknown {
  return new type(...Array.prototype.slice.call(args));
}

/** `error.toString()` */
export function errorToString(this: {
  readonly name?: unknown;
  readonly message?: unknown;
}): string {
  const givenName = this.name;
  const name = givenName === undefined ? 'Error' : String(givenName);
  const givenMessage = this.message;
  const message = givenMessage === undefined ? '' : String(givenMessage);
  if (name === '') return message;
  return message === '' ? name : `${name}: ${message}`;
}

export function objectToLocaleString(this: object): string {
  return this.toString();
}

/** `String.raw` */
export function raw(template: { readonly raw: ArrayLike<string> }, ...values: unknown[]): string {
  const strings = template.raw;
  const { length } = strings;
  let text = '';
  for (let i = 0; i < length; i++) {
    text += String(strings[i]);
    if (i + 1 < length && i < values.length) text += String(values[i]);
  }
  return text;
}

type Accessor = (this: unknown, value?: unknown) => unknown;

export function defineGetter(this: object, key: PropertyKey, get: () => unknown): void {
  Object.defineProperty(this, key, { get, enumerable: true, configurable: true });
}

export function defineSetter(this: object, key: PropertyKey, set: (value: unknown) => void): void {
  Object.defineProperty(this, key, { set, enumerable: true, configurable: true });
}

export function lookupGetter(this: object, key: PropertyKey): Accessor | undefined {
  for (let at: unknown = this; at !== null; at = Object.getPrototypeOf(at)) {
    const own = Object.getOwnPropertyDescriptor(at as object, key);
    if (own !== undefined) return own.get;
  }
  return undefined;
}

export function lookupSetter(this: object, key: PropertyKey): Accessor | undefined {
  for (let at: unknown = this; at !== null; at = Object.getPrototypeOf(at)) {
    const own = Object.getOwnPropertyDescriptor(at as object, key);
    if (own !== undefined) return own.set;
  }
  return undefined;
}
