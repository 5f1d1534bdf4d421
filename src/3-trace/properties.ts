/** Reading properties of what the tracer knows. Getters with source are called. */

import { accessorOf, isModuleNamespace, isProxy, readsPlainly } from '../guards/plain.ts';
import type { Source } from '../guards/source.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { arrayElement, asArray, lengthOf } from './arrays.ts';
import { present, settled } from './choices.ts';
import { asCollection, sizeOf } from './collections.ts';
import { readDynamicProperty } from './dynamic-shapes/dynamic-properties.ts';
import { constantOf } from './facts.ts';
import { isIndex } from './index-key.ts';
import { type Key, ownAttributes, ownContent, prototypeOf } from './objects/made-objects.ts';
import { guardNumbers } from './symbolic.ts';
import { readTensorProperty } from './tensor-properties.ts';
import { textAsked } from './text.ts';
import type { Tracer } from './tracer.ts';
import { readTypedArray } from './typed-array-elements.ts';
import {
  type FunctionVariable,
  isPrimitive,
  known,
  type NewObjectVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from './variable.ts';

const generatorPrototype = Object.getPrototypeOf(function* () {}.prototype) as object;
const arrayIteratorPrototype = Object.getPrototypeOf([][Symbol.iterator]()) as object;

export function readProperty(t: Tracer, object: Variable, key: string): Variable {
  const base = settled(object);
  switch (base.kind) {
    case 'dynamic':
      return readDynamicProperty(t, base, key);
    case 'tensor':
      return readTensorProperty(t, base, key);
    case 'object':
    case 'function':
      return readOuterProperty(t, base, key);
    case 'newArray':
      return readArrayProperty(t, base, key);
    case 'newObject':
      if (base.errorType && key === 'stack') break;
      return readMade(t, base, base, key);
    case 'symbolic':
      guardNumbers(t, base);
      return inherited(t, Object.getPrototypeOf(base.value) as object, key);
    case 'scalar':
      return inherited(t, base.type === 'number' ? Number.prototype : Boolean.prototype, key);
    case 'text':
      if (key === 'length' || isIndex(key)) throw textAsked(base, `is asked for ${key}`);
      return inherited(t, String.prototype, key);
    case 'newCollection': {
      if (key === 'size') return sizeOf(t, base);
      return inherited(t, base.type === 'Map' ? Map.prototype : Set.prototype, key);
    }
    case 'iterator':
      return inherited(t, arrayIteratorPrototype, key);
    case 'generator':
      return inherited(t, generatorPrototype, key);
    case 'regexp':
      if (key === 'lastIndex') return known(base.lastIndex);
      return inherited(t, RegExp.prototype, key, base);
    case 'newTypedArray':
      return (
        readTypedArray(base, key) ??
        inherited(t, Object.getPrototypeOf(base.data) as object, key, base)
      );
    case 'closure':
      if (key === 'prototype' || key === 'caller' || key === 'arguments') break;
      if (key === 'name') return known(base.name ?? base.code.name);
      if (key === 'length') return known(base.code.parameterCount);
      return inherited(t, Function.prototype, key);
    case 'bound':
      if (key === 'name' || key === 'length') break;
      return inherited(t, Function.prototype, key);
    case 'constant': {
      const value = constantOf(t, base);
      // null and undefined throw; the native step does it with the right message.
      if (value === null || value === undefined)
        throw new GraphBreak('throw', `${key} of ${value}`);
      return typeof value === 'string' && (key === 'length' || /^\d+$/.test(key))
        ? known(value[key as 'length'])
        : inherited(t, Object.getPrototypeOf(value) as object, key, base);
    }
    default:
  }
  throw new GraphBreak('unsupported-value', `the property ${key} of a ${base.kind}`);
}

/** `base[symbol]` */
export function readSymbol(t: Tracer, object: Variable, key: symbol): Variable {
  const base = settled(object);
  switch (base.kind) {
    case 'object':
    case 'function':
      return readOuterProperty(t, base, key);
    case 'newObject':
      return readMade(t, base, base, key);
    case 'newArray':
      return inherited(t, base.isArguments ? Object.prototype : Array.prototype, key);
    case 'newCollection':
      return inherited(t, base.type === 'Map' ? Map.prototype : Set.prototype, key);
    case 'iterator':
      return inherited(t, arrayIteratorPrototype, key);
    case 'generator':
      return inherited(t, generatorPrototype, key);
    case 'regexp':
      return inherited(t, RegExp.prototype, key);
    case 'newTypedArray':
      return inherited(t, Object.getPrototypeOf(base.data) as object, key, base);
    case 'closure':
    case 'bound':
      return inherited(t, Function.prototype, key);
    case 'constant':
    case 'symbolic': {
      const value = constantOf(t, base);
      if (value === null || value === undefined) {
        throw new GraphBreak('throw', `${String(key)} of ${value}`);
      }
      return inherited(t, Object.getPrototypeOf(value) as object, key);
    }
    default:
      throw new GraphBreak('unsupported-value', `a symbol as key of a ${base.kind}`);
  }
}

function readArrayProperty(
  t: Tracer,
  base: Variable & { kind: 'newArray' },
  key: string,
): Variable {
  if (key === 'length') return lengthOf(t, base);
  if (isIndex(key)) return arrayElement(t, base, Number(key));
  const named = base.named?.get(key);
  if (named) return named;
  return inherited(t, base.isArguments ? Object.prototype : Array.prototype, key, base);
}

/** Of an object made inside, from its own properties and the prototypes that it was given. */
function readMade(t: Tracer, holder: NewObjectVariable, receiver: Variable, key: Key): Variable {
  const own = ownAttributes(holder, key);
  if (own?.accessor) {
    const { get } = own.accessor;
    return get ? t.execution.callInside(get, receiver, []) : undefinedVariable;
  }
  if (own) return present(ownContent(holder, key))!;
  const prototype = prototypeOf(holder);
  if (prototype === null) return undefinedVariable;
  if (prototype === undefined) return inherited(t, Object.prototype, key, receiver);
  if (prototype.kind === 'newObject') return readMade(t, prototype, receiver, key);
  const accessor = isProxy(prototype.value) ? undefined : accessorOf(prototype.value, key);
  if (accessor) return callGetter(t, prototype, receiver, key, accessor);
  return readOuterProperty(t, prototype, key);
}

/** What the language's own prototypes hold, which somebody may replace. */
function inherited(
  t: Tracer,
  prototype: object,
  key: string | symbol,
  receiver?: Variable,
): Variable {
  const accessor = accessorOf(prototype, key);
  if (accessor && receiver) {
    const held = { kind: 'held', value: prototype, name: 'the host' } as const;
    return callGetter(t, t.read(held, prototype) as ObjectVariable, receiver, key, accessor);
  }
  const value: unknown = (prototype as Record<string | symbol, unknown>)[key];
  if (isPrimitive(value) || typeof value === 'function') {
    const name = `${(prototype.constructor as { name?: string }).name ?? 'the host'}.prototype`;
    const base = { kind: 'held', value: prototype, name } as const;
    return t.read({ kind: 'property', base, key }, value);
  }
  throw new GraphBreak('unsupported-value', `the inherited property ${String(key)}`);
}

function readOuterProperty(
  t: Tracer,
  base: ObjectVariable | FunctionVariable,
  key: string | symbol,
): Variable {
  const { value: object } = base;
  const source = base.source ?? heldFunction(base);
  const special = typeof key === 'string' ? readContainerProperty(t, base, key) : undefined;
  if (special) return special;
  const written = t.effects.written(object, source, key);
  if (written) return present(written) ?? readDeleted(t, base, source, key);
  if (t.effects.hasVariables && isModuleNamespace(object)) {
    throw new GraphBreak(
      'variable-write',
      `${String(key)} of a module is read after an assignment`,
    );
  }
  if (isProxy(object)) throw new GraphBreak('getter', `reading ${String(key)} of a Proxy`);
  const accessor = accessorOf(object, key);
  if (accessor) return callGetter(t, base, base, key, accessor);
  if (!readsPlainly(object, key)) throw new GraphBreak('getter', `reading ${String(key)}`);
  const value: unknown = (object as unknown as Record<string | symbol, unknown>)[key];
  return t.read({ kind: 'property', base: source, key }, value);
}

/** Lengths, elements and sizes, which the trace may have changed. */
function readContainerProperty(
  t: Tracer,
  base: ObjectVariable | FunctionVariable,
  key: string,
): Variable | undefined {
  if (base.kind !== 'object') return undefined;
  if (key === 'length' || isIndex(key)) {
    const array = asArray(t, base, key === 'length' ? 'end' : 'all');
    if (array) return key === 'length' ? lengthOf(t, array) : arrayElement(t, array, Number(key));
  }
  if (key !== 'size') return undefined;
  const collection = asCollection(t, base, 'Map', 'Set');
  return collection && sizeOf(t, collection);
}

/** An own property that the trace has deleted: what the prototype has. */
function readDeleted(
  t: Tracer,
  receiver: ObjectVariable | FunctionVariable,
  source: Source,
  key: Key,
): Variable {
  const prototype = Object.getPrototypeOf(receiver.value) as object | null;
  const base = t.read({ kind: 'prototypeOf', base: source }, prototype);
  if (prototype === null || (base.kind !== 'object' && base.kind !== 'function')) {
    return undefinedVariable;
  }
  const accessor = isProxy(prototype) ? undefined : accessorOf(prototype, key);
  if (accessor) return callGetter(t, base, receiver, key, accessor);
  return readOuterProperty(t, base, key);
}

/** The getter is the same function, which is a guard; it is followed like any call. */
export function callGetter(
  t: Tracer,
  holder: ObjectVariable | FunctionVariable,
  receiver: Variable,
  key: string | symbol,
  { get }: PropertyDescriptor,
): Variable {
  if (!get) return undefinedVariable;
  const base = holder.source ?? heldFunction(holder);
  const getter = t.read({ kind: 'accessor', base, key, which: 'get' }, get);
  try {
    return t.execution.callInside(getter, receiver, []);
  } catch (error) {
    const native = error instanceof GraphBreak && error.reason === 'native-call';
    throw native ? new GraphBreak('getter', `reading ${String(key)}`) : error;
  }
}

export function heldFunction({ value }: ObjectVariable | FunctionVariable): Source {
  const name = typeof value === 'function' ? value.name : 'an object';
  return { kind: 'held', value, name };
}

/** `base[key]` of a key that is one already. */
export function readKey(t: Tracer, base: Variable, key: Key): Variable {
  return typeof key === 'symbol' ? readSymbol(t, base, key) : readProperty(t, base, key);
}
