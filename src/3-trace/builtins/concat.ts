/** `array.concat(…)` */

import { GraphBreak } from '../../traces/graph-break.ts';
import { growableIn, isGrowable } from '../control-flow/lists/growable-array.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { append } from '../values/array-changes.ts';
import { asArray, elementsWithHoles, isArray } from '../values/arrays.ts';
import { appendGrowable } from '../values/lists.ts';
import { hasProperty } from '../values/property-keys.ts';
import { isPrimitiveVariable } from '../values/to-primitive.ts';
import { extendedArray } from '../values/varying-array.ts';
import { type NewArrayVariable, newArray, type Variable } from '../variables/variable.ts';

export function concat(t: Tracer, receiver: Variable, args: readonly Variable[]): Variable {
  const all = [receiver, ...args].map((part) => growableIn(t, part) ?? part);
  if (all.some(isGrowable)) return concatLists(t, all);
  return extendedByParts(t, all) ?? newArray(elementsOfEach(t, all).flat());
}

/** The result of concatenating with an array whose length differs in other calls. */
function extendedByParts(t: Tracer, parts: readonly Variable[]): Variable | undefined {
  const at = parts.findIndex((part) => part.kind === 'newArray' && part.extended);
  const varying = parts[Math.max(at, 0)]!;
  const isArrayLike = varying.kind === 'object' && !isSpreadSpecially(t, varying);
  if (at < 0 && !isArrayLike) return undefined;
  const preceding = at > 0 ? elementsOfEach(t, parts.slice(0, at)) : [];
  const appended = elementsOfEach(t, parts.slice(Math.max(at, 0) + 1), false);
  return extendedArray(t, varying, preceding.flat(), appended.flat());
}

/** `hasReceiver`: the first part is the receiver. */
function elementsOfEach(t: Tracer, all: readonly Variable[], hasReceiver = true): Variable[][] {
  return all.map((part, i) => {
    if (isSpreadSpecially(t, part) || (hasReceiver && i === 0 && isPrimitiveVariable(part))) {
      throw new GraphBreak('native-call', 'concat of an object');
    }
    if (!isArray(t, part)) return [part];
    const array = asArray(t, part);
    if (!array) throw new GraphBreak('native-call', 'concat of an array of another kind');
    return elementsWithHoles(t, array);
  });
}

/**
 * Returns whether `Symbol.isConcatSpreadable` may change how an object or a pre-existing array is concatenated.
 */
function isSpreadSpecially(t: Tracer, part: Variable): boolean {
  const key = Symbol.isConcatSpreadable;
  if (part.kind === 'newObject') return constantOf(t, hasProperty(t, part, key, false)) === true;
  return part.kind === 'object' && (!Array.isArray(part.value) || key in part.value);
}

/** Concatenates parts, some of which have a data-dependent length. */
function concatLists(t: Tracer, parts: readonly Variable[]): Variable {
  const result = newArray([]);
  for (const part of parts) {
    if (isGrowable(part)) appendGrowable(t, result, part);
    else append(t, result, (concat(t, part, []) as NewArrayVariable).elements);
  }
  return result;
}
