/** Instances of built-in types such as Date and URL. Their methods run natively on the state known to the trace. */

import { type HostTypeName, hostType, hostTypeOf } from '../../../guards/host-types.ts';
import { isProxy } from '../../../guards/plain.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { newObject, setOwnProperty } from '../../heap/made-objects.ts';
import { Raised, raised } from '../../state/exceptions.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { specialized } from '../../variables/unions.ts';
import {
  isPrimitive,
  known,
  type NewHostVariable,
  newArray,
  type ObjectVariable,
  prototypeOf,
  type Variable,
} from '../../variables/variable.ts';
import { arrayElements, asArray, isArray } from '../arrays.ts';
import { plainEntries } from '../property-keys.ts';
import { isPrimitiveVariable } from '../to-primitive.ts';
import { typedArrayVariable } from '../typed-arrays.ts';

/**
 * Returns the variable that represents the object: the object itself, or the traced state of a pre-existing object
 * that the trace changes.
 */
export function hostState(t: Tracer, value: Variable): Variable {
  const variable = specialized(value);
  const changed = variable.kind === 'object' ? t.effects.host(variable.value) : undefined;
  if (!changed || variable.kind !== 'object') return variable;
  // The object may have been changed by another name.
  t.effects.met.touchContent(variable.value, variable.source);
  return changed;
}

/**
 * Returns an instance of the type with its current state, which is guarded for a pre-existing object; undefined
 * for other values. The instance must not be changed.
 */
export function readHost(t: Tracer, value: Variable, type: HostTypeName): object | undefined {
  const variable = hostState(t, value);
  if (variable.kind === 'newHost') return variable.type === type ? variable.value : undefined;
  if (variable.kind !== 'object' || isProxy(variable.value)) return undefined;
  if (hostTypeOf(variable.value) !== type) return undefined;
  guardState(t, variable, type);
  return hostType(type).copy(variable.value);
}

function guardState(t: Tracer, { value, source }: ObjectVariable, type: HostTypeName): void {
  t.effects.met.touchContent(value, source);
  const state = { kind: 'query', base: source, query: 'hostState', key: type } as const;
  constantOf(t, t.read(state, hostType(type).state(value)));
}

/** Lets `body` change the instance; the change is rolled back with the current attempt. */
export function changeHost<T>(
  t: Tracer,
  argument: Variable,
  type: HostTypeName,
  body: (value: object) => T,
): T | undefined {
  const variable = changeable(t, argument, type);
  if (!variable) return undefined;
  if (t.isInRegion) throw new GraphBreak('branch-effect', `a branch or loop changes a ${type}`);
  const { copy, assign } = hostType(type);
  const { value } = variable;
  const before = copy(value);
  t.journal.note(() => assign(value, before));
  return body(value);
}

function changeable(
  t: Tracer,
  argument: Variable,
  type: HostTypeName,
): NewHostVariable | undefined {
  const variable = hostState(t, argument);
  if (variable.kind === 'newHost') return variable.type === type ? variable : undefined;
  const value = readHost(t, variable, type);
  if (!value || variable.kind !== 'object') return undefined;
  const content = { kind: 'newHost', type, value, outer: variable } as const;
  t.effects.takeHost(variable, content);
  return content;
}

/** Returns the plain value if the trace knows all of it, otherwise undefined. */
export function plainValue(t: Tracer, argument: Variable): { readonly value: unknown } | undefined {
  const variable = hostState(t, argument);
  if (variable.kind === 'scalar' || variable.kind === 'text') return undefined;
  if (isPrimitiveVariable(variable)) return { value: constantOf(t, variable) };
  if (variable.kind === 'newTypedArray') return { value: variable.data.slice() };
  if (variable.kind === 'newHost') return { value: variable.value };
  if (variable.kind === 'object' && !isProxy(variable.value)) {
    const type = hostTypeOf(variable.value);
    if (type) return { value: readHost(t, variable, type) };
  }
  const array = asArray(t, variable);
  if (array) {
    if (array.kind === 'newArray' && array.growable) return undefined;
    const items = arrayElements(t, array).map((item) => plainValue(t, item));
    return items.includes(undefined) ? undefined : { value: items.map((item) => item!.value) };
  }
  const isPlain =
    variable.kind === 'newObject'
      ? !prototypeOf(variable) && !variable.traits
      : isPlainOuter(variable);
  if (!isPlain) return undefined;
  isArray(t, variable);
  const entries = plainEntries(t, variable).map(({ key, value }) => ({
    key,
    item: plainValue(t, value),
  }));
  if (entries.some(({ item }) => !item)) return undefined;
  return { value: Object.fromEntries(entries.map(({ key, item }) => [key, item!.value])) };
}

const isPlainOuter = (variable: Variable): boolean =>
  variable.kind === 'object' && Object.getPrototypeOf(variable.value) === Object.prototype;

/** Returns the plain values of all arguments; undefined if one is unknown. */
export function plainValues(t: Tracer, args: readonly Variable[]): unknown[] | undefined {
  const values = args.map((arg) => plainValue(t, arg));
  return values.includes(undefined) ? undefined : values.map((each) => each!.value);
}

/**
 * Returns the variable for a value created by a built-in function: a primitive, or an array or plain object of
 * primitives.
 */
export function madeVariable(t: Tracer, value: unknown): Variable {
  if (isPrimitive(value)) return known(value);
  if (Array.isArray(value)) return newArray(value.map((item) => madeVariable(t, item)));
  if (ArrayBuffer.isView(value)) return typedArrayVariable(t, value);
  const type = hostTypeOf(value as object);
  if (type) return { kind: 'newHost', type, value: value as object };
  if (value instanceof Intl.Locale) {
    const text = value.toString();
    return { kind: 'newHost', type: null, value, build: () => new Intl.Locale(text) };
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    throw new GraphBreak('native-call', 'a result of another type');
  }
  const object = newObject(t);
  for (const [key, item] of Object.entries(value as object)) {
    setOwnProperty(t, object, key, madeVariable(t, item));
  }
  return object;
}

/** Like `orRaise`, but leaves errors with own properties to the native function. */
export function byHost<T>(t: Tracer, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof Raised || error instanceof GraphBreak) throw error;
    const keys = Object.keys(error as object);
    throw keys.length > 0 ? new GraphBreak('throw', String(error)) : raised(t, error);
  }
}
