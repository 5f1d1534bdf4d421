/**
 * Private elements of instances created in the trace, stored as properties with keys that user code never sees. Only a
 * class's own constructor can add its private names to an object, so such an instance exists only in the trace. If it
 * would escape, its class is constructed natively instead.
 */

import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Attributes } from './variable.ts';

/** A pre-existing class, or the code of a class created in the trace. */
// biome-ignore lint/complexity/noBannedTypes: a class.
type Owner = Function | Code;

const keys = new WeakMap<Owner, Map<string, symbol>>();
const names = new Map<symbol, WeakRef<Owner>>();

/** Hides a private element from enumeration and protects it from `Object.freeze`. */
export const hiddenAttributes: Attributes = {
  enumerable: false,
  configurable: false,
  writable: false,
  accessor: null,
};

/** Returns the key for a class's `#name`, or, with an empty name, for the brand that its methods check. */
export function privateKey(owner: Owner, name: string): symbol {
  const known = getOrInsert(keys, owner, () => new Map());
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

/** Returns the class that declares the private name. */
export const ownerOf = (key: symbol): Owner | undefined => names.get(key)?.deref();
