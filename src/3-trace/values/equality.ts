/** Equality of two variables. */

import type { Tracer } from '../state/tracer.ts';
import { constantOf, isNullish, isSame, truthiness, typeOf } from '../state/value-guards.ts';
import { numberNeeded } from '../variables/number-needed.ts';
import { textBreak } from '../variables/text-variable.ts';
import { specialized } from '../variables/unions.ts';
import { known, type Variable } from '../variables/variable.ts';
import { withPrimitive } from './to-primitive.ts';

/** `a === b` */
export function strictlyEqual(t: Tracer, x: Variable, y: Variable): boolean {
  if (differInType(t, specialized(x), specialized(y))) return false;
  const [a, b] = [comparable(t, x), comparable(t, y)];
  if (a.kind === 'constant' && b.kind === 'constant') return constantOf(t, a) === constantOf(t, b);
  if (a.kind !== 'constant' && b.kind !== 'constant') return isSame(t, a, b);
  return mixed(t, a, b, true);
}

/**
 * Returns whether two variables differ in type for any values: text with device scalars never equals a primitive of
 * another type, and neither does a number that changes between calls.
 */
function differInType(t: Tracer, a: Variable, b: Variable): boolean {
  if (a.kind === 'symbolic' || b.kind === 'symbolic') {
    const isHost =
      a.kind !== 'scalar' && b.kind !== 'scalar' && a.kind !== 'text' && b.kind !== 'text';
    return isHost && typeOf(t, a) !== typeOf(t, b);
  }
  if (a.kind !== 'text' && b.kind !== 'text') return false;
  const other = a.kind === 'text' ? b : a;
  return other.kind === 'constant' && typeof constantOf(t, other) !== 'string';
}

/** Compares like Map keys and `includes`: NaN equals itself. */
export function sameValueZero(t: Tracer, x: Variable, y: Variable): boolean {
  const [a, b] = [comparable(t, x), comparable(t, y)];
  if (a.kind === 'constant' && b.kind === 'constant') {
    const [left, right] = [constantOf(t, a), constantOf(t, b)];
    return left === right || Object.is(left, right);
  }
  return strictlyEqual(t, a, b);
}

/** `a == b` */
export function looselyEqual(t: Tracer, x: Variable, y: Variable): boolean {
  const [left, right] = [specialized(x), specialized(y)];
  if (left.kind === 'symbolic' && isNullishConstant(right)) return isNullish(t, left);
  if (right.kind === 'symbolic' && isNullishConstant(left)) return isNullish(t, right);
  const [a, b] = [comparable(t, x), comparable(t, y)];
  if (a.kind === 'constant' && b.kind === 'constant') {
    // biome-ignore lint/suspicious/noDoubleEquals: user code compares loosely.
    return constantOf(t, a) == constantOf(t, b);
  }
  if (a.kind !== 'constant' && b.kind !== 'constant') return isSame(t, a, b);
  return mixed(t, a, b, false);
}

const isNullishConstant = (variable: Variable): boolean =>
  variable.kind === 'constant' && !variable.source && (variable.value ?? null) === null;

/** Compares a primitive with an object. */
function mixed(t: Tracer, a: Variable, b: Variable, strict: boolean): boolean {
  const [constant, other] = a.kind === 'constant' ? [a, b] : [b, a];
  const value = constantOf(t, constant);
  if (value === null || value === undefined) {
    truthiness(t, other);
    return false;
  }
  // A primitive equals an object only loosely, after a conversion that user code may define.
  if (!strict)
    return withPrimitive(t, other, 'default', (primitive) => looselyEqual(t, primitive, constant));
  typeOf(t, other);
  return false;
}

function comparable(t: Tracer, value: Variable): Variable {
  const variable = specialized(value);
  if (variable.kind === 'scalar') throw numberNeeded(variable, 'is compared by a native function');
  if (variable.kind === 'text') throw textBreak(variable, 'is compared');
  return variable.kind === 'symbolic' ? known(constantOf(t, variable)) : variable;
}
