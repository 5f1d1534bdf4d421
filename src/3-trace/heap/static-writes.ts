import type { Tracer } from '../state/tracer.ts';
import type { ClassVariable } from '../variables/function-variables.ts';
import type { FunctionVariable, ObjectVariable, Variable } from '../variables/variable.ts';
import { type Key, ownAttributes, plainAttributes, setOwnProperty } from './made-objects.ts';
import { builtinHolder, callsSetter, expectDataBelow, refusedWrite } from './setters.ts';

/** The object with static members where a lookup begins. */
type StaticHolder = ClassVariable | FunctionVariable | ObjectVariable;

const aboveAll = builtinHolder(Function.prototype, 'Function.prototype');

/** `type.key = value`, for a class created in the trace. `from`: where the search for a setter begins, for `super`. */
export function writeStatic(
  t: Tracer,
  type: ClassVariable,
  key: Key,
  value: Variable,
  from: StaticHolder = type,
): void {
  if (key === 'prototype' || key === 'name' || key === 'length' || key === '__proto__') {
    throw refusedWrite(key);
  }
  let at = from;
  for (; at.kind === 'class'; at = at.parent ?? aboveAll) {
    const attributes = ownAttributes(at.statics, key);
    if (!attributes) continue;
    if (attributes.accessor?.set) {
      t.execution.callInside(attributes.accessor.set, type, [value]);
      return;
    }
    if (!attributes.writable) throw refusedWrite(key);
    break;
  }
  if (at.kind !== 'class') {
    if (callsSetter(t, at, type, key, value)) return;
    expectDataBelow(t, at, key);
  }
  const own = ownAttributes(type.statics, key);
  if (own && (own.accessor || !own.writable)) throw refusedWrite(key);
  setOwnProperty(t, type.statics, key, value, own ?? plainAttributes);
}
