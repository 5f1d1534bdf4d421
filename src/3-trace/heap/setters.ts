/** Setters that an assignment finds on the prototypes of an object. */

import { accessorOf, allows, plainName } from '../../guards/plain.ts';
import type { Source } from '../../guards/source.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import { guardChange } from '../state/value-guards.ts';
import type {
  FunctionVariable,
  NewObjectVariable,
  ObjectVariable,
  Variable,
} from '../variables/variable.ts';
import type { Key } from './made-objects.ts';

export const refusedWrite = (key: Key): GraphBreak =>
  new GraphBreak('object-write', `the property ${String(key)} is assigned`);

/** Returns a pre-existing object that code can only reach by its identity. */
export function builtinHolder(value: object, name: string): ObjectVariable {
  return { kind: 'object', value, source: { kind: 'held', value, name } };
}

/** Returns the default prototype of an object without an explicit one. */
export function defaultPrototype({ errorType }: NewObjectVariable): ObjectVariable {
  const type = errorType ?? Object;
  return builtinHolder(type.prototype as object, `${type.name}.prototype`);
}

const placeOf = ({ source, value }: ObjectVariable | FunctionVariable): Source =>
  source ?? {
    kind: 'held',
    value,
    name: typeof value === 'function' ? plainName(value) : 'an object',
  };

/** Calls the setter that the object has or inherits; returns whether there is one. */
export function callsSetter(
  t: Tracer,
  holder: ObjectVariable | FunctionVariable,
  receiver: Variable,
  key: Key,
  value: Variable,
): boolean {
  const accessor = accessorOf(holder.value, key);
  if (!accessor?.set) return false;
  const source = { kind: 'accessor', base: placeOf(holder), key, which: 'set' } as const;
  try {
    t.execution.callInside(t.read(source, accessor.set), receiver, [value]);
  } catch (error) {
    const native = error instanceof GraphBreak && error.reason === 'native-call';
    throw native ? refusedWrite(key) : error;
  }
  return true;
}

/** Requires that an assignment adds an own property to an object with this prototype, now and in later calls. */
export function expectDataBelow(
  t: Tracer,
  prototype: ObjectVariable | FunctionVariable,
  key: Key,
): void {
  if (!allows(prototype.value, 'writeBelow', key)) throw refusedWrite(key);
  guardChange(t, placeOf(prototype), 'writeBelow', key);
}
