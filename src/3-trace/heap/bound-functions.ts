import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { type BoundVariable, known, type Variable } from '../variables/variable.ts';

/** Returns the `name` of a bound function, given that of its target. */
export function boundName(t: Tracer, ofTarget: Variable): Variable {
  const name = constantOf(t, ofTarget);
  return known(`bound ${typeof name === 'string' ? name : ''}`);
}

/** Returns the `length` of a bound function, given that of its target. */
export function boundLength(t: Tracer, { args }: BoundVariable, ofTarget: Variable): Variable {
  const length = constantOf(t, ofTarget);
  return known(typeof length === 'number' ? Math.max(Math.trunc(length) - args.length, 0) : 0);
}
