/** Reads, defines and fixes own properties and their attributes. */

import { isProxy } from '../../guards/plain.ts';
import { ask, type Query } from '../../guards/query.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isIndex } from '../../vm/language/index-key.ts';
import {
  isExtensible,
  type Key,
  newObject,
  ownAttributes,
  ownContent,
  ownSymbols,
  plainAttributes,
  preventExtensions,
  setOwnProperty,
} from '../heap/made-objects.ts';
import { expectNoStack, typeError } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardObject, guardPrimitive, truthiness } from '../state/value-guards.ts';
import { arrayElement, hasElement, indexKeys } from '../values/arrays.ts';
import { heldFunction } from '../values/getters.ts';
import { readKey, readProperty } from '../values/properties.ts';
import { hasProperty, ownNames } from '../values/property-keys.ts';
import { writeProperty } from '../values/write-property.ts';
import { kindName } from '../variables/kind-names.ts';
import { specialized } from '../variables/unions.ts';
import {
  type Attributes,
  type FunctionVariable,
  known,
  type NewArrayVariable,
  type NewObjectVariable,
  newArray,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';

type Outer = ObjectVariable | FunctionVariable;

const isOuter = (variable: Variable): variable is Outer =>
  (variable.kind === 'object' || variable.kind === 'function') && !isProxy(variable.value);

/** Returns the result of a query about a pre-existing object, guarded if the trace depends on it. */
function askOuter(t: Tracer, object: Outer, query: Query, key?: Key): Variable {
  if (t.effects.isWritten(object.value)) {
    throw new GraphBreak('native-call', `${query} of an object that was changed before`);
  }
  const base = object.source ?? heldFunction(object);
  return t.read({ kind: 'query', base, query, key }, ask(query, object.value, key));
}

/** Returns the names and symbols of all own properties, enumerable or not. */
export function ownKeys(t: Tracer, variable: Variable): Key[] {
  const object = specialized(variable);
  if (object.kind === 'newObject') {
    expectNoStack(object, 'stack');
    return [...ownNames(t, object), ...ownSymbols(object)];
  }
  if (object.kind === 'newArray' && !object.isArguments) {
    const there = indexKeys(t, object);
    const named = object.own ? ownKeys(t, object.own) : (object.named?.keys() ?? []);
    return [...there, 'length', ...named];
  }
  if (!isOuter(object) || Object.getOwnPropertySymbols(object.value).length > 0) {
    throw new GraphBreak('native-call', `the keys of ${kindName(object)} are listed`);
  }
  return JSON.parse(constantOf(t, askOuter(t, object, 'names')) as string) as string[];
}

/** `Object.getOwnPropertyDescriptor(object, key)` */
export function getDescriptor(t: Tracer, variable: Variable, key: Key): Variable {
  const object = specialized(variable);
  if (object.kind === 'newObject') {
    if (typeof key === 'string') expectNoStack(object, key);
    const attributes = ownAttributes(object, key);
    if (!attributes) return undefinedVariable;
    const { accessor } = attributes;
    if (!accessor) return describe(t, attributes, ownContent(object, key)!);
    const [get, set] = [accessor.get ?? undefinedVariable, accessor.set ?? undefinedVariable];
    return described(t, [['get', get], ['set', set], ...flags(attributes, ['enumerable'])]);
  }
  if (object.kind === 'newArray' && typeof key === 'string' && isIndex(key)) {
    if (!hasElement(t, object, Number(key))) return undefinedVariable;
    return describe(t, plainAttributes, arrayElement(t, object, Number(key)));
  }
  if (object.kind === 'newArray' && key === 'length') {
    const attributes = { ...plainAttributes, enumerable: false, configurable: false };
    return describe(t, attributes, readProperty(t, object, 'length'));
  }
  if ((object.kind === 'newArray' || object.kind === 'newCollection') && object.own) {
    return getDescriptor(t, object.own, key);
  }
  if (!isOuter(object)) throw new GraphBreak('native-call', `a property of ${kindName(object)}`);
  const text = constantOf(t, askOuter(t, object, 'attributes', key)) as string | undefined;
  if (text === undefined) return undefinedVariable;
  const { isData, ...attributes } = JSON.parse(text) as Attributes & { readonly isData: boolean };
  if (!isData) throw new GraphBreak('native-call', 'the functions of an accessor are read');
  return describe(t, attributes, readKey(t, object, key));
}

function describe(t: Tracer, attributes: Attributes, value: Variable): Variable {
  return described(t, [['value', value], ...flags(attributes, ['writable', 'enumerable'])]);
}

type Flag = 'writable' | 'enumerable' | 'configurable';

const flags = (attributes: Attributes, names: readonly Flag[]): [string, Variable][] =>
  [...names, 'configurable' as const].map((name) => [name, known(attributes[name])]);

function described(t: Tracer, entries: readonly (readonly [string, Variable])[]): Variable {
  const object = newObject(t);
  for (const [key, value] of entries) object.entries.set(key, value);
  return object;
}

/** `Object.defineProperty(object, key, descriptor)` */
export function defineByDescriptor(
  t: Tracer,
  target: Variable,
  key: Key,
  descriptor: Variable,
): void {
  const refusal = tryToDefine(t, target, key, descriptor);
  if (refusal !== null) throw typeError(t, refusal);
}

/**
 * `Reflect.defineProperty(object, key, descriptor)`: returns null, or the engine's message if the object rejects the
 * definition.
 */
export function tryToDefine(
  t: Tracer,
  target: Variable,
  key: Key,
  descriptor: Variable,
): string | null {
  const object = specialized(target);
  const fields = fieldsOf(t, specialized(descriptor));
  const isData = !('get' in fields) && !('set' in fields);
  if (isOuter(object)) {
    const isPlain = isData && fields.writable && fields.enumerable && fields.configurable;
    if (!isPlain) throw new GraphBreak('native-call', 'a property of an object is defined');
    writeProperty(t, object, key, fields.value ?? undefinedVariable);
    return null;
  }
  if (object.kind !== 'newObject' || object.errorType) {
    throw new GraphBreak('native-call', `a property of ${kindName(object)} is defined`);
  }
  const before = ownAttributes(object, key);
  if (before ? !before.configurable : !isExtensible(object)) {
    if (before && !before.accessor && !before.writable && fields.value) {
      expectComparable(fields.value, ownContent(object, key)!, key);
    }
    const refusal = refusalOf(before, ownContent(object, key), fields, key);
    if (refusal !== null) return refusal;
  }
  const { enumerable = before?.enumerable ?? false, configurable = before?.configurable ?? false } =
    fields;
  if (
    isData &&
    !(before?.accessor && fields.value === undefined && fields.writable === undefined)
  ) {
    const writable = fields.writable ?? before?.writable ?? false;
    const content = fields.value ?? (before?.accessor ? undefined : ownContent(object, key));
    const attributes = { enumerable, configurable, writable, accessor: null };
    setOwnProperty(t, object, key, content ?? undefinedVariable, attributes);
    return null;
  }
  const { get = before?.accessor?.get ?? null, set = before?.accessor?.set ?? null } = fields;
  const attributes = { enumerable, configurable, writable: false, accessor: { get, set } };
  setOwnProperty(t, object, key, undefinedVariable, attributes);
  return null;
}

/** Throws a graph break unless it is known whether the values are the same. */
function expectComparable(one: Variable, other: Variable, key: Key): void {
  const areKnown = one.kind === 'constant' && other.kind === 'constant';
  if (one === other || areKnown) return;
  throw new GraphBreak('native-call', `the property ${String(key)} is fixed`);
}

/**
 * Returns the engine's message if the object rejects the definition, because its property is not configurable or
 * because a new one can't be added; otherwise null. The engine decides that for an object with the same attributes.
 */
function refusalOf(
  before: Attributes | undefined,
  content: Variable | undefined,
  { value, get, set, ...flags }: Fields,
  key: Key,
): string | null {
  const standIns = new Map<unknown, () => void>();
  const standIn = (accessor: unknown): (() => void) | undefined => {
    if (!accessor) return undefined;
    if (!standIns.has(accessor)) standIns.set(accessor, () => {});
    return standIns.get(accessor);
  };
  const plain = (each: Variable): unknown => (each.kind === 'constant' ? each.value : each);
  const sample: object = {};
  if (before) {
    const { accessor, writable, enumerable, configurable } = before;
    const fields = accessor
      ? { get: standIn(accessor.get), set: standIn(accessor.set) }
      : { value: plain(content!), writable };
    Object.defineProperty(sample, key, {
      enumerable,
      configurable,
      ...fields,
    } as PropertyDescriptor);
  }
  Object.preventExtensions(sample);
  try {
    Object.defineProperty(sample, key, {
      ...flags,
      ...(value && { value: plain(value) }),
      ...(get !== undefined && { get: standIn(get) }),
      ...(set !== undefined && { set: standIn(set) }),
    } as PropertyDescriptor);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

interface Fields {
  readonly enumerable?: boolean;
  readonly configurable?: boolean;
  readonly writable?: boolean;
  readonly value?: Variable;
  readonly get?: Variable | null;
  readonly set?: Variable | null;
}

/** Reads the fields in the order of the specification, since they may be getters. */
function fieldsOf(t: Tracer, descriptor: Variable): Fields {
  const fields: Record<string, unknown> = {};
  const has = (name: string) => constantOf(t, hasProperty(t, descriptor, name, false)) === true;
  for (const name of ['enumerable', 'configurable', 'value', 'writable', 'get', 'set']) {
    if (!has(name)) continue;
    const value = specialized(readProperty(t, descriptor, name));
    if (name === 'value') fields[name] = value;
    else if (name !== 'get' && name !== 'set') fields[name] = truthiness(t, value);
    else if (value.kind === 'constant' && constantOf(t, value) === undefined) fields[name] = null;
    else if (value.kind === 'closure' || value.kind === 'function') fields[name] = value;
    else throw new GraphBreak('native-call', 'an accessor is not a function');
  }
  if (('get' in fields || 'set' in fields) && ('value' in fields || 'writable' in fields)) {
    throw typeError(
      t,
      'Invalid property descriptor. Cannot both specify accessors and a value or writable attribute',
    );
  }
  return fields;
}

type Integrity = 'isFrozen' | 'isSealed' | 'isExtensible';

/** `Object.isFrozen(value)` and similar functions. */
export function hasIntegrity(t: Tracer, variable: Variable, query: Integrity): Variable {
  const object = specialized(variable);
  if (isOuter(object)) return askOuter(t, object, query);
  if (object.kind === 'newObject') return known(madeHas(t, object, query));
  if (object.kind === 'newArray' && object.fixed) return known(query !== 'isExtensible');
  const isObject =
    object.kind !== 'constant' && object.kind !== 'symbolic' && object.kind !== 'text';
  if (object.kind === 'tensor' || object.kind === 'scalar') {
    throw new GraphBreak('native-call', `${query} of ${kindName(object)}`);
  }
  if (isObject) guardObject(t, object);
  else guardPrimitive(t, object);
  return known(isObject === (query === 'isExtensible'));
}

function madeHas(t: Tracer, object: NewObjectVariable, query: Integrity): boolean {
  if (query === 'isExtensible') return isExtensible(object);
  if (isExtensible(object)) return false;
  return ownKeys(t, object).every((key) => {
    const { configurable, writable } = ownAttributes(object, key)!;
    return !configurable && (query === 'isSealed' || !writable);
  });
}

const reached = {
  freeze: 'isFrozen',
  seal: 'isSealed',
  preventExtensions: 'isExtensible',
} as const;

/** `Object.freeze(value)` and similar functions. A pre-existing object must already be in the requested state. */
export function fix(t: Tracer, variable: Variable, how: keyof typeof reached): Variable {
  const object = specialized(variable);
  if (object.kind === 'constant' || object.kind === 'symbolic' || object.kind === 'text')
    return variable;
  if (isOuter(object)) {
    const isSo = constantOf(t, askOuter(t, object, reached[how]));
    if (isSo === (how !== 'preventExtensions')) return variable;
    throw new GraphBreak('object-write', `Object.${how}() of a pre-existing object`);
  }
  if (object.kind === 'newArray' && how === 'freeze') return freezeArray(t, object);
  if (object.kind !== 'newObject') {
    throw new GraphBreak('native-call', `Object.${how}() of ${kindName(object)}`);
  }
  preventExtensions(t, object);
  if (how === 'preventExtensions') return object;
  for (const key of ownKeys(t, object)) {
    const before = ownAttributes(object, key)!;
    const writable = before.writable && how !== 'freeze';
    const content = ownContent(object, key)!;
    setOwnProperty(t, object, key, content, { ...before, configurable: false, writable });
  }
  return object;
}

function freezeArray(t: Tracer, array: NewArrayVariable): Variable {
  if (t.isInRegion) {
    throw new GraphBreak('branch-effect', 'Object.freeze() of an array in a branch or loop');
  }
  if (array.growable || array.isArguments || array.outer || array.own) {
    const what = array.outer ? 'a pre-existing array' : kindName(array);
    throw new GraphBreak(
      'native-call',
      `Object.freeze() of ${array.own ? 'an instance of a class that extends Array' : what}`,
    );
  }
  t.journal.set(array, 'fixed', true);
  return array;
}

/** Returns names and symbols as an array created in the trace. */
export function keysArray(keys: readonly Key[]): Variable {
  return newArray(keys.map((key) => known(key)));
}
