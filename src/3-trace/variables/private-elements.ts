/**
 * Private elements of instances created in the trace. They are properties of the instance with keys that the user
 * never sees: no one but the constructor of a class can give an object its private names, so such an
 * instance lives in the trace only. Where it would leave, its class is constructed natively instead.
 */

import type { Code } from '../../vm/bytecode/code.ts';
import type { Attributes } from './variable.ts';

/** A pre-existing class, or the code of one that the trace makes. */
// biome-ignore lint/complexity/noBannedTypes: a class.
type Owner = Function | Code;

const keys = new WeakMap<Owner, Map<string, symbol>>();
const names = new Map<symbol, WeakRef<Owner>>();

/** No listing shows it, and freezing the object leaves it as it is. */
export const hiddenAttributes: Attributes = {
  enumerable: false,
  configurable: false,
  writable: false,
  accessor: null,
};

/** The key of `#name` of a class, or of the brand that its methods ask for: the empty name. */
export function privateKey(owner: Owner, name: string): symbol {
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
export const ownerOf = (key: symbol): Owner | undefined => names.get(key)?.deref();
