/** `indexOf`, `lastIndexOf` and `includes` of arrays. */

import { isGrowable } from '../control-flow/lists/growable-array.ts';
import type { Tracer } from '../state/tracer.ts';
import {
  type ArrayVariable,
  arrayElement,
  arrayElements,
  arrayLength,
  asArray,
  hasElement,
} from '../values/arrays.ts';
import { sameValueZero, strictlyEqual } from '../values/equality.ts';
import { known, type Variable } from '../variables/variable.ts';
import { type Body, integer, onKnownArray, place } from './arrays.ts';
import type { Builtin, BuiltinTable } from './builtin.ts';

/** Excludes comparisons that only the program can make, which the polyfills in `array-likes.ts` handle. */
function onNumbersKnown(body: Body): Builtin {
  return (t, receiver, args) =>
    comparesScalars(t, receiver, args) ? undefined : onKnownArray(body)(t, receiver, args);
}

/** Returns whether an element of the array, or the item searched for, is a device scalar. */
export function comparesScalars(
  t: Tracer,
  receiver: Variable,
  [item]: readonly Variable[],
): boolean {
  const array = asArray(t, receiver);
  if (!array || isGrowable(array)) return false;
  if (item?.kind === 'scalar') return true;
  return array.kind === 'newArray' && array.elements.some(({ kind }) => kind === 'scalar');
}

/** Searches from `first` in steps of `step`. A hole is never found, although it reads as undefined. */
function search(
  t: Tracer,
  array: ArrayVariable,
  item: Variable,
  first: number,
  step: 1 | -1,
): number {
  const length = arrayLength(t, array);
  for (let i = first; i >= 0 && i < length; i += step) {
    if (hasElement(t, array, i) && strictlyEqual(t, arrayElement(t, array, i), item)) return i;
  }
  return -1;
}

/** Returns the start of a backward search, counted from the end if negative. An explicit undefined counts as 0. */
function lastPlace(t: Tracer, args: readonly Variable[], length: number): number {
  if (args.length < 2) return length - 1;
  const index = integer(t, args[1], 0);
  return index < 0 ? length + index : Math.min(index, length - 1);
}

export const arraySearchBuiltins: BuiltinTable = [
  [
    Array.prototype.indexOf,
    onNumbersKnown((t, array, [item = known(undefined), start]) =>
      known(search(t, array, item, place(t, start, 0, arrayLength(t, array)), 1)),
    ),
  ],
  [
    Array.prototype.lastIndexOf,
    onNumbersKnown((t, array, args) => {
      const [item = known(undefined)] = args;
      return known(search(t, array, item, lastPlace(t, args, arrayLength(t, array)), -1));
    }),
  ],
  [
    Array.prototype.includes,
    onNumbersKnown((t, array, [item = known(undefined), start]) => {
      const elements = arrayElements(t, array).slice(place(t, start, 0, arrayLength(t, array)));
      return known(elements.some((each) => sameValueZero(t, each, item)));
    }),
  ],
];
