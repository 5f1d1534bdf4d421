/** Properties of an object, and their keys. */

import { isProxy, listsPlainly } from '../../guards/plain.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isIndex } from '../../vm/language/index-key.ts';
import { settleOrder } from '../heap/key-order.ts';
import { type Key, ownAttributes, ownSymbols } from '../heap/made-objects.ts';
import { writtenAbove } from '../heap/written-above.ts';
import { expectNoStack } from '../state/exceptions.ts';
import { expectLasting } from '../state/symbolic-guards.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import type { ClosureVariable } from '../variables/function-variables.ts';
import { kindName } from '../variables/kind-names.ts';
import { present, specialized } from '../variables/unions.ts';
import {
  type BoundVariable,
  type FunctionVariable,
  known,
  type NewObjectVariable,
  type ObjectVariable,
  prototypeOf,
  type Variable,
} from '../variables/variable.ts';
import { asArray, hasElement, indexKeys } from './arrays.ts';
import { heldFunction } from './getters.ts';
import { expectNoParameters, readProperty } from './properties.ts';

/** Returns whether `key in base`, or with `own` whether it is an own property. */
export function hasProperty(t: Tracer, object: Variable, key: Key, own: boolean): Variable {
  const base = specialized(object);
  switch (base.kind) {
    case 'newObject':
      return hasMade(t, base, key, own);
    case 'newArray':
      if (key === 'length' || (typeof key === 'string' && base.named?.has(key))) return known(true);
      if (isIndex(key)) return known(hasElement(t, base, Number(key)));
      if (base.own) return hasMade(t, base.own, key, own);
      if (own) return known(false);
      return hasInherited(t, base.isArguments ? Object.prototype : Array.prototype, key);
    case 'newCollection':
      if (base.own) return hasMade(t, base.own, key, own);
      break;
    case 'newTypedArray':
      if (own && typeof key === 'symbol') break;
      return known(own ? Object.hasOwn(base.data, key) : key in base.data);
    case 'newHost':
      if (own) break;
      return hasInherited(t, Object.getPrototypeOf(base.value) as object, key);
    case 'class':
      if (key === 'prototype' || key === 'name' || key === 'length') return known(true);
      if (ownAttributes(base.statics, key)) return known(true);
      if (own) return known(false);
      return base.parent
        ? hasProperty(t, base.parent, key, false)
        : hasInherited(t, Function.prototype, key);
    case 'closure':
    case 'bound':
      if (own) break;
      if (key === 'prototype' && hasPrototype(base)) return known(true);
      return hasInherited(t, Function.prototype, key);
    case 'tensor': {
      const { source, actual } = base;
      if (!source || !actual)
        return known(own ? Object.hasOwn(base.traced!, key) : key in base.traced!);
      const has = own ? Object.hasOwn(actual, key) : key in actual;
      return t.read({ kind: 'hasProperty', base: source, key, own }, has);
    }
    case 'object':
    case 'function':
      return hasOuterProperty(t, base, key, own);
    case 'constant':
    case 'symbolic': {
      const value = constantOf(t, base);
      if (!own || value === null || value === undefined) break;
      return known(Object.hasOwn(Object(value) as object, key));
    }
    default:
  }
  throw new GraphBreak('unsupported-value', `the keys of ${kindName(base)}`);
}

/** Ordinary functions and generators have a `prototype`. */
function hasPrototype(fn: ClosureVariable | BoundVariable): boolean {
  if (fn.kind === 'bound') return false;
  const { kind, isAsync, isGenerator } = fn.code;
  return isGenerator || (kind === 'function' && !isAsync);
}

function hasMade(t: Tracer, object: NewObjectVariable, key: Key, own: boolean): Variable {
  if (typeof key === 'string') t.variables.reads?.property(object, key);
  if (ownAttributes(object, key)) return known(true);
  if (typeof key === 'string') expectNoStack(object, key);
  const prototype = own ? null : prototypeOf(object);
  if (prototype === null) return known(false);
  if (prototype === undefined) return hasInherited(t, Object.prototype, key);
  return hasProperty(t, prototype, key, false);
}

/** Returns whether the built-in prototype has the key. Since users may change it, the trace depends on it. */
function hasInherited(t: Tracer, prototype: object, key: Key): Variable {
  t.inherited.read(prototype, key);
  return known(key in prototype);
}

function hasOuterProperty(
  t: Tracer,
  base: ObjectVariable | FunctionVariable,
  key: Key,
  own: boolean,
): Variable {
  const { value: object } = base;
  const source = base.source ?? heldFunction(base);
  expectNoParameters(object, key);
  if (isProxy(object)) throw new GraphBreak('getter', `looking for ${String(key)} in a Proxy`);
  const array = base.kind === 'object' && isIndex(key) ? asArray(t, base) : undefined;
  if (array) return known(hasElement(t, array, Number(key)));
  const written = t.effects.written(object, source, key);
  if (written) {
    if (present(written)) return known(true);
    const prototype = Object.getPrototypeOf(object) as object | null;
    return known(!own && prototype !== null && key in prototype);
  }
  if (!own && writtenAbove(t, object, source, key)) return known(true);
  const has = own ? Object.hasOwn(object, key) : key in object;
  return t.read({ kind: 'hasProperty', base: source, key, own }, has);
}

/** Returns the own enumerable string keys. */
export function plainKeys(t: Tracer, object: Variable): string[] {
  const base = specialized(object);
  if (base.kind === 'newObject') {
    t.variables.reads?.keys(base);
    return ownNames(t, base).filter((key) => ownAttributes(base, key)?.enumerable);
  }
  if (base.kind === 'newArray') {
    const there = indexKeys(t, base);
    if (base.own) return [...there, ...plainKeys(t, base.own)];
    return base.named ? [...there, ...base.named.keys()] : there;
  }
  if (base.kind === 'constant' || base.kind === 'symbolic') {
    return Object.keys(Object(constantOf(t, base)) as object);
  }
  if (base.kind === 'closure' || base.kind === 'bound') return [];
  if (base.kind === 'class') return plainKeys(t, base.statics);
  if (base.kind === 'newTypedArray') return Object.keys(base.data);
  if (base.kind === 'newCollection') return base.own ? plainKeys(t, base.own) : [];
  if (base.kind !== 'object' || !listsPlainly(base.value) || t.effects.hasSymbols(base.value)) {
    throw new GraphBreak('unsupported-value', `the properties of ${kindName(base)} are listed`);
  }
  const { source, value } = base;
  expectNoParameters(value, 'the elements');
  const array = asArray(t, base);
  const keys = Object.keys(value);
  expectLasting(t, `keys ${sourceKey(source)}`);
  t.guard(`keys ${sourceKey(source)}`, { kind: 'keys', source, keys });
  t.variables.reads?.query(source, 'names');
  const isHidden = (key: string) => {
    const has = { kind: 'hasProperty', base: source, key, own: true } as const;
    return constantOf(t, t.read(has, Object.hasOwn(value, key))) === true;
  };
  const names = t.effects.keysOf(value, keys, isHidden);
  if (!array || !t.effects.array(value)) return names;
  // Elements that the trace moved or appended are not recorded as property writes.
  return [...indexKeys(t, array), ...names.filter((name) => !isIndex(name))];
}

/** Returns the names of all own properties of an object created in the trace. */
export function ownNames(t: Tracer, object: NewObjectVariable): string[] {
  settleOrder(t, object);
  // JavaScript puts index keys first.
  const there = Object.create(null) as Record<Key, true>;
  object.entries.forEach((value, key) => {
    if (present(value)) there[key] = true;
  });
  return Object.keys(there);
}

/** Returns whether the trace has deleted the property since the object's keys were listed and guarded. */
export function hasLost(t: Tracer, object: Variable, name: string): boolean {
  if (object.kind === 'newObject') return !present(object.entries.get(name));
  if (object.kind !== 'object') return false;
  const written = t.effects.written(object.value, object.source, name);
  return written !== undefined && !present(written);
}

/**
 * Returns the own enumerable string properties. A getter may change or remove later ones. Entries are objects,
 * since user code may have replaced the iterator that destructures pairs.
 */
export function plainEntries(
  t: Tracer,
  base: Variable,
): { readonly key: string; readonly value: Variable }[] {
  const entries: { readonly key: string; readonly value: Variable }[] = [];
  plainKeys(t, base).forEach((key) => {
    if (!hasLost(t, base, key)) entries.push({ key, value: readProperty(t, base, key) });
  });
  return entries;
}

/** Returns the own enumerable keys that a spread copies, symbols last. */
export function copiedKeys(t: Tracer, variable: Variable): Key[] {
  const base = specialized(variable);
  const names = plainKeys(t, base);
  if (base.kind !== 'newObject') return names;
  const symbols = ownSymbols(base).filter((key) => ownAttributes(base, key)?.enumerable);
  return [names, symbols].flat();
}
