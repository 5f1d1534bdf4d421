/** Arrays indexed by device scalars. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { isGrowable } from '../control-flow/lists/growable-array.ts';
import { chosenBy } from '../control-flow/merge/union.ts';
import { asNumber } from '../control-flow/numbers/scalars.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { numberNeeded } from '../variables/number-needed.ts';
import { specialized } from '../variables/unions.ts';
import {
  type DeviceScalar,
  known,
  type UnionVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { arrayElement, arrayLength, asArray } from './arrays.ts';
import { growableElement, setGrowableElement } from './lists.ts';

/** `array[index]`: an element, or undefined. Throws UnionMet, after which each path knows the index. */
export function elementAt(t: Tracer, base: Variable, index: DeviceScalar): Variable {
  const array = expectArray(t, base, index);
  if (isGrowable(array)) return growableElement(t, array, index);
  const found = specialized(unionOfIndex(t, arrayLength(t, array), index));
  return found === outside
    ? undefinedVariable
    : arrayElement(t, array, constantOf(t, found) as number);
}

/** `array[index] = value` for an array of data-dependent length; returns false for other arrays. */
export function setGrowableAt(
  t: Tracer,
  base: Variable,
  index: DeviceScalar,
  value: Variable,
): boolean {
  const array = asArray(t, base);
  if (!array || !isGrowable(array)) return false;
  setGrowableElement(t, array, index, value);
  return true;
}

/**
 * Returns the index as one of the array's indices, or its end. Throws UnionMet, after which each path knows the
 * index.
 */
export function indexIn(t: Tracer, base: Variable, index: DeviceScalar): Variable {
  // Writing at the end makes the array grow.
  const count = arrayLength(t, expectArray(t, base, index)) + 1;
  const found = specialized(unionOfIndex(t, count, index));
  if (found !== outside) return found;
  // Handled like an exception: the run ends without effects, and the call runs natively.
  throw new GraphBreak('throw', 'an array is written past its end');
}

export function unionOfIndex(t: Tracer, count: number, index: DeviceScalar): UnionVariable {
  const existing = indices.get(index)?.get(count);
  if (existing) return existing;
  const options = Array.from({ length: count }, (_, i) => known(i));
  const union = chosenBy(t, asNumber(t, index), [...options, outside], 'an index');
  const counts = indices.get(index) ?? new Map<number, UnionVariable>();
  // The union is valid only in the branch or loop that computed it.
  t.journal.note(() => counts.delete(count));
  indices.set(index, counts.set(count, union));
  return union;
}

/** Unions by index and option count: paths that make the same query receive the same union. */
const indices = new WeakMap<DeviceScalar, Map<number, UnionVariable>>();
const outside = known('outside');

function expectArray(t: Tracer, base: Variable, index: DeviceScalar) {
  const array = asArray(t, base);
  if (array) return array;
  throw numberNeeded(index, 'is the key of something other than an array');
}
