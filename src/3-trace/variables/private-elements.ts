/**
 * Private elements of instances created in the trace. They are properties of the instance with keys that the user
 * never sees: no one but the constructor of a class can give an object its private names, so such an
 * instance lives in the trace only. Where it would leave, its class is constructed natively instead.
 */

// biome-ignore lint/complexity/noBannedTypes: a class.
type Class = Function;

interface PrivateName {
  readonly owner: Class;
  readonly name: string;
}

const keys = new WeakMap<Class, Map<string, symbol>>();
const names = new Map<symbol, WeakRef<Class>>();

/** The key of `#name` of a class, or of the brand that its methods ask for: the empty name. */
export function privateKey(owner: Class, name: PrivateName['name']): symbol {
  let known = keys.get(owner);
  if (!known) {
    known = new Map();
    keys.set(owner, known);
  }
  let key = known.get(name);
  if (!key) {
    key = Symbol(`#${name}`);
    known.set(name, key);
    names.set(key, new WeakRef(owner));
  }
  return key;
}

export const isPrivateKey = (key: PropertyKey): boolean =>
  typeof key === 'symbol' && names.has(key);

/** The class whose private name the key is. */
export const ownerOf = (key: symbol): Class | undefined => names.get(key)?.deref();
