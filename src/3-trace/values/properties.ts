/** Reads properties of variables. Getters with source are traced. */

import { isChangingRate } from '../../../runtime/optim/changing-rates.ts';
import { isSizeGetter } from '../../guards/collection-slots.ts';
import { accessorOf, isModuleNamespace, isProxy, readsPlainly } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { sharesParameters } from '../../vm/language/arguments-object.ts';
import { isIndex } from '../../vm/language/index-key.ts';
import { isPolyfill } from '../builtins/polyfills/codes.ts';
import { boundLength, boundName } from '../heap/bound-functions.ts';
import { asCollection, isWeak, sizeOf } from '../heap/collections.ts';
import { readStatic } from '../heap/made-classes.ts';
import { type Key, ownAttributes, ownContent } from '../heap/made-objects.ts';
import { writtenAbove, writtenThere } from '../heap/written-above.ts';
import { expectNoStack } from '../state/exceptions.ts';
import { guardNumbers } from '../state/symbolic-guards.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardIdentity, typeOf } from '../state/value-guards.ts';
import { type BuiltinVariable, builtinPrototype } from '../variables/builtin-prototypes.ts';
import type { ClassVariable } from '../variables/function-variables.ts';
import { kindName } from '../variables/kind-names.ts';
import { textBreak } from '../variables/text-variable.ts';
import { present, specialized } from '../variables/unions.ts';
import {
  type FunctionVariable,
  known,
  type NewObjectVariable,
  type ObjectVariable,
  prototypeOf,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { arrayElement, asArray, lengthOf } from './arrays.ts';
import { readDynamicProperty } from './dynamic-properties.ts';
import { callGetter, heldFunction } from './getters.ts';
import { originalFunction, ownOriginal } from './original-functions.ts';
import { touchMemory, writtenElement } from './outer-typed-arrays.ts';
import { readTensorProperty, readTensorSymbol } from './tensor-properties.ts';
import { readTypedArray } from './typed-array-elements.ts';

export function readProperty(t: Tracer, object: Variable, key: string): Variable {
  const base = specialized(object);
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
      if (typeof key === 'string') expectNoStack(base, key);
      return readMade(t, base, base, key);
    case 'symbolic':
      guardNumbers(t, base);
      return inherited(t, Object.getPrototypeOf(base.value) as object, key, base);
    case 'scalar':
    case 'iterator':
    case 'generator':
    case 'newHost':
    case 'newPromise':
      return inheritedByBuiltin(t, base, key);
    case 'text':
      if (key === 'length' || isIndex(key)) throw textBreak(base, `is asked for ${key}`);
      return inheritedByBuiltin(t, base, key);
    case 'newCollection':
      if (base.own) return readMade(t, base.own, base, key);
      if (key === 'size' && !isWeak(base)) return sizeOf(t, base);
      return inheritedByBuiltin(t, base, key);
    case 'regexp':
      if (key === 'lastIndex') return known(base.lastIndex);
      return inheritedByBuiltin(t, base, key);
    case 'newTypedArray':
      return readTypedArray(base, key) ?? inheritedByBuiltin(t, base, key);
    case 'closure':
      if (key === 'prototype' || key === 'caller' || key === 'arguments') break;
      if (key === 'name') return known(base.name ?? base.code.name);
      if (key === 'length') return known(base.code.parameterCount);
      return inheritedByBuiltin(t, base, key);
    case 'class':
      return readClass(t, base, base, key);
    case 'bound':
      if (key === 'name') return boundName(t, base.name ?? readProperty(t, base.target, key));
      if (key === 'length') return boundLength(t, base, readProperty(t, base.target, key));
      return inheritedByBuiltin(t, base, key);
    case 'constant': {
      const { value } = base;
      if (typeof value === 'string' && (key === 'length' || /^\d+$/.test(key)))
        return known((constantOf(t, base) as string)[key as 'length']);
      // null and undefined throw: the native step produces the right message.
      if (value === null || value === undefined) {
        constantOf(t, base);
        throw new GraphBreak('throw', `${key} of ${value}`);
      }
      // Inherited properties depend only on the value's type.
      typeOf(t, base);
      return inherited(t, Object.getPrototypeOf(value) as object, key, base);
    }
    default:
  }
  throw new GraphBreak('unsupported-value', `the property ${key} of ${kindName(base)}`);
}

/** `base[symbol]` */
export function readSymbol(t: Tracer, object: Variable, key: symbol): Variable {
  const base = specialized(object);
  switch (base.kind) {
    case 'tensor':
      return readTensorSymbol(t, base, key);
    case 'object':
    case 'function':
      return readOuterProperty(t, base, key);
    case 'newObject':
      return readMade(t, base, base, key);
    case 'newArray':
      if (base.own) return readMade(t, base.own, base, key);
      // An `arguments` object has its own `Symbol.iterator`, the one of arrays.
      if (base.isArguments && key !== Symbol.iterator)
        return inherited(t, Object.prototype, key, base);
      return inherited(t, Array.prototype, key, base);
    case 'class':
      return readClass(t, base, base, key);
    case 'newCollection':
      if (base.own) return readMade(t, base.own, base, key);
      return inheritedByBuiltin(t, base, key);
    case 'iterator':
    case 'generator':
    case 'regexp':
    case 'newTypedArray':
    case 'newHost':
    case 'newPromise':
    case 'closure':
    case 'bound':
      return inheritedByBuiltin(t, base, key);
    case 'constant':
    case 'symbolic': {
      const value = constantOf(t, base);
      if (value === null || value === undefined) {
        throw new GraphBreak('throw', `${String(key)} of ${value}`);
      }
      return inherited(t, Object.getPrototypeOf(value) as object, key, base);
    }
    default:
      throw new GraphBreak('unsupported-value', `a symbol as key of ${kindName(base)}`);
  }
}

function inheritedByBuiltin(t: Tracer, base: BuiltinVariable, key: string | symbol): Variable {
  return inherited(t, builtinPrototype(base), key, base);
}

function readArrayProperty(
  t: Tracer,
  base: Variable & { kind: 'newArray' },
  key: string,
): Variable {
  if (key === 'length') return lengthOf(t, base);
  const named = base.named?.get(key);
  if (named) return named;
  if (isIndex(key)) return arrayElement(t, base, Number(key));
  if (base.own) return readMade(t, base.own, base, key);
  if (base.isArguments && key === 'callee') {
    if (base.callee) return base.callee;
    throw new GraphBreak('unsupported-value', 'arguments.callee is read');
  }
  return inherited(t, base.isArguments ? Object.prototype : Array.prototype, key, base);
}

/** Reads a property of a class created in the trace, including its superclasses. */
function readClass(t: Tracer, type: ClassVariable, receiver: Variable, key: Key): Variable {
  const found = readStatic(t, type, receiver, key);
  if (found) return found;
  if (type.parent) return readFor(t, type.parent, receiver, key);
  return inherited(t, Function.prototype, key, receiver);
}

/** Reads `base[key]`; a getter is called with `receiver` as its `this`. */
export function readFor(t: Tracer, base: Variable, receiver: Variable, key: Key): Variable {
  if (base.kind === 'newObject') return readMade(t, base, receiver, key);
  if (base.kind === 'class') return readClass(t, base, receiver, key);
  if ((base.kind === 'object' || base.kind === 'function') && !isProxy(base.value)) {
    const accessor = accessorOf(base.value, key);
    if (accessor) return callGetter(t, base, receiver, key, accessor);
  }
  return readKey(t, base, key);
}

/** Reads a property of an object created in the trace, including its prototypes. */
function readMade(t: Tracer, holder: NewObjectVariable, receiver: Variable, key: Key): Variable {
  const attributes = ownAttributes(holder, key);
  if (attributes?.accessor) {
    const { get } = attributes.accessor;
    return get ? t.execution.callInside(get, receiver, []) : undefinedVariable;
  }
  // An absent property may be added.
  if (typeof key === 'string') t.variables.reads?.property(holder, key);
  if (attributes) {
    return present(ownContent(holder, key))!;
  }
  const prototype = prototypeOf(holder);
  if (prototype === null) return undefinedVariable;
  if (prototype === undefined) return inherited(t, Object.prototype, key, receiver);
  if (prototype.kind === 'newObject') return readMade(t, prototype, receiver, key);
  const accessor = isProxy(prototype.value) ? undefined : accessorOf(prototype.value, key);
  if (accessor) return callGetter(t, prototype, receiver, key, accessor);
  return readOuterProperty(t, prototype, key);
}

/** Reads a property of a built-in prototype, which users may have replaced. A getter is called on the receiver. */
function inherited(
  t: Tracer,
  prototype: object,
  key: string | symbol,
  receiver: Variable,
): Variable {
  const name = `${(prototype.constructor as { name?: string }).name ?? 'the host'}.prototype`;
  const base = { kind: 'held', value: prototype, name } as const;
  const isWritten = t.effects.isWritten(prototype);
  const written =
    (isWritten && writtenThere(t, prototype, base, key)) || writtenAbove(t, prototype, base, key);
  if (written) return written;
  const accessor = accessorOf(prototype, key);
  if (accessor) {
    const holder = { kind: 'object', value: prototype, source: base } as const;
    return (
      nativeField(t, receiver, holder, key, accessor) ??
      callGetter(t, holder, receiver, key, accessor)
    );
  }
  const value: unknown = (prototype as Record<string | symbol, unknown>)[key];
  if (typeof value === 'function') {
    // A polyfill represents a native function, which makes no lookups.
    const original = isPolyfill(t.top.closure.code) && originalFunction(prototype, key);
    if (typeof original === 'function') {
      return { kind: 'function', value: original as FunctionVariable['value'], source: null };
    }
  }
  return t.read({ kind: 'property', base, key }, value);
}

/** Built-in getters that only return part of the value. */
const nativeFields: ReadonlySet<unknown> = new Set(
  [
    [Symbol.prototype, 'description'] as const,
    ...(
      ['source', 'global', 'ignoreCase', 'multiline', 'dotAll', 'unicode', 'sticky'] as const
    ).map((key) => [RegExp.prototype, key] as const),
  ].map(([prototype, key]) => Object.getOwnPropertyDescriptor(prototype, key)?.get),
);

function nativeField(
  t: Tracer,
  receiver: Variable,
  { source: base }: ObjectVariable,
  key: string | symbol,
  { get }: PropertyDescriptor,
): Variable | undefined {
  if (!get || !nativeFields.has(get)) return undefined;
  let of: unknown;
  if (receiver.kind === 'constant') of = constantOf(t, receiver);
  else if (receiver.kind === 'regexp') of = new RegExp(receiver.pattern, receiver.flags);
  else return undefined;
  const getter = t.read({ kind: 'accessor', base, key, which: 'get' }, get);
  guardIdentity(t, getter as FunctionVariable);
  return known(Reflect.apply(get, of, []) as string | boolean);
}

/** Returns the original of a function that a polyfill calls by name, such as `Math.max`. */
function namedByPolyfill(t: Tracer, object: object, key: PropertyKey): Variable | undefined {
  const { closure, pc } = t.top;
  if (!isPolyfill(closure.code) || closure.code.instructions[pc]?.op !== 'getProp')
    return undefined;
  const original = ownOriginal(object, key) as FunctionVariable['value'] | undefined;
  return original && { kind: 'function', value: original, source: null };
}

function readOuterProperty(
  t: Tracer,
  base: ObjectVariable | FunctionVariable,
  key: string | symbol,
): Variable {
  const { value: object } = base;
  const named = namedByPolyfill(t, object, key);
  if (named) return named;
  const source = base.source ?? heldFunction(base);
  expectNoParameters(object, key);
  const special = typeof key === 'string' ? readContainerProperty(t, base, key) : undefined;
  if (special) return special;
  const written = t.effects.written(object, source, key);
  if (written) return present(written) ?? readDeleted(t, base, source, key);
  const assigned = assignedExport(t, object, key);
  if (assigned) return assigned;
  if (isProxy(object)) throw new GraphBreak('getter', `reading ${String(key)} of a Proxy`);
  const above = writtenAbove(t, object, source, key);
  if (above) return above;
  const accessor = accessorOf(object, key);
  if (accessor) return callGetter(t, base, base, key, accessor);
  if (!readsPlainly(object, key)) throw new GraphBreak('getter', `reading ${String(key)}`);
  const value: unknown = (object as unknown as Record<string | symbol, unknown>)[key];
  return t.read({ kind: 'property', base: source, key }, value, isChangingRate(object, key));
}

/** Returns the value that the trace assigned to the variable exported by a module as `key`. */
function assignedExport(t: Tracer, object: object, key: string | symbol): Variable | undefined {
  if (t.effects.variables.size === 0 || !isModuleNamespace(object)) return undefined;
  const read = (): unknown => Reflect.get(object, key);
  const place = [...t.effects.variables].find((variable) => variable.isReadBy?.(read));
  if (!place) return undefined;
  const source = { kind: 'held', value: place.object, name: String(key) } as const;
  return t.effects.written(place.object, source, place.key);
}

/**
 * Breaks the graph for elements of `arguments` that alias parameters in sloppy mode: the parameters are separate
 * locations.
 */
export function expectNoParameters(object: object, key: string | symbol): void {
  if (!sharesParameters(object)) return;
  throw new GraphBreak('unsupported-value', `${String(key)} of arguments that shares its elements`);
}

/** Reads lengths, elements and sizes, which the trace may have changed. */
function readContainerProperty(
  t: Tracer,
  base: ObjectVariable | FunctionVariable,
  key: string,
): Variable | undefined {
  if (base.kind !== 'object') return undefined;
  if (ArrayBuffer.isView(base.value) && isIndex(key)) {
    touchMemory(t, base);
    return writtenElement(t, base, key);
  }
  if (key === 'length' || isIndex(key)) {
    const array = asArray(t, base, key === 'length' ? 'end' : 'all');
    if (array) return key === 'length' ? lengthOf(t, array) : arrayElement(t, array, Number(key));
  }
  if (key !== 'size' || !isSizeGetter(accessorOf(base.value, key)?.get)) return undefined;
  const collection = asCollection(t, base, 'Map', 'Set');
  return collection && sizeOf(t, collection);
}

/** Reads the inherited value of an own property that the trace deleted. */
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

/** Reads `base[key]` for a value that is already a property key. */
export function readKey(t: Tracer, base: Variable, key: Key): Variable {
  return typeof key === 'symbol' ? readSymbol(t, base, key) : readProperty(t, base, key);
}
