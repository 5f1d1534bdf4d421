import { isProxy } from '../../../guards/plain.ts';
import { usesNewTarget } from '../../../vm/bytecode/arrow-uses.ts';
import { newObject } from '../../heap/made-objects.ts';
import type { Tracer } from '../../state/tracer.ts';
import { guardIdentity } from '../../state/value-guards.ts';
import { isRefused } from '../../variables/code-of.ts';
import { specialized } from '../../variables/unions.ts';
import type { FunctionVariable, Variable } from '../../variables/variable.ts';
import { readProperty } from '../properties.ts';
import { isObjectVariable } from './prototype-variable.ts';

/**
 * `new F()` of a function without `class`: it is called with the new object as its `this`. Returns undefined for other
 * functions, and for those that read `new.target`.
 */
export function constructPlainly(
  t: Tracer,
  type: FunctionVariable,
  args: readonly Variable[],
): Variable | undefined {
  if (isProxy(type.value)) return undefined;
  // The `prototype` of a class is read-only; methods, arrows and bound functions have none.
  if (!Object.getOwnPropertyDescriptor(type.value, 'prototype')?.writable) return undefined;
  const found = t.codeOf.called(type.value);
  if (isRefused(found) || found.boundThis || found.closure.code.isGenerator) return undefined;
  if (usesNewTarget(found.closure.code)) return undefined;
  const prototype = specialized(readProperty(t, type, 'prototype'));
  if (prototype.kind !== 'object') return undefined;
  guardIdentity(t, type);
  guardIdentity(t, prototype);
  const object = newObject(t, prototype);
  const result = specialized(t.execution.callInside(type, object, args));
  return isObjectVariable(result) ? result : object;
}
