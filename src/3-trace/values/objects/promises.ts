import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import { isUndefined } from '../../state/value-guards.ts';
import { specialized } from '../../variables/unions.ts';
import type { NewPromiseVariable, Variable } from '../../variables/variable.ts';
import { readProperty } from '../properties.ts';
import { isPrimitiveVariable } from '../to-primitive.ts';

export function newPromise(
  t: Tracer,
  by: NewPromiseVariable['by'],
  values: readonly Variable[],
): NewPromiseVariable {
  return { kind: 'newPromise', by, values, madeIn: t.builder, sequence: t.promises++ };
}

/** Returns the promise of an async function that returned the value. */
export function promiseOf(t: Tracer, variable: Variable): NewPromiseVariable {
  const value = specialized(variable);
  const isThenable =
    !isPrimitiveVariable(value) &&
    value.kind !== 'newPromise' &&
    !isMissing(t, readProperty(t, value, 'then'));
  if (isThenable) throw new GraphBreak('native-call', 'an async function returns a thenable');
  return newPromise(t, 'new', [value]);
}

const isMissing = (t: Tracer, then: Variable): boolean =>
  isPrimitiveVariable(then) && isUndefined(t, then);
