/**
 * Data-dependent queries about a list, such as whether an element exists. The result is a union, so that each path
 * continues with its own option.
 */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import { eq, ge, logicalAnd, lt, trunc } from '../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { chosenBy } from '../control-flow/merge/union.ts';
import { asNumber, constantTensor } from '../control-flow/numbers/scalars.ts';
import type { Tracer } from '../state/tracer.ts';
import type { GrowableList } from '../variables/growable-list.ts';
import { resolved, specialized, UnionMet } from '../variables/unions.ts';
import {
  type DeviceScalar,
  known,
  type UnionVariable,
  type Variable,
} from '../variables/variable.ts';

/** Returns whether `i` is a valid index for `n` elements. */
export function inRange(t: Tracer, i: Tensor, n: Tensor): Tensor {
  return t.runApi(() => noGrad(() => logicalAnd(logicalAnd(ge(i, 0), lt(i, n)), eq(i, trunc(i)))));
}

/** Returns whether the element exists. Throws UnionMet, after which each path knows the result. */
export function isThere(
  t: Tracer,
  growable: GrowableList,
  key: string | DeviceScalar,
  place: () => DeviceScalar,
): boolean {
  return (
    optionFor(t, growable, key, [there, none], () => {
      const found = inRange(t, asNumber(t, place()), asNumber(t, growable.length));
      const [zero, one] = [0, 1].map((number) => constantTensor(t, number, found.device));
      return t.runApi(() => noGrad(() => where(found, zero!, one!)));
    }) === there
  );
}

/** Returns whether the current path already knows that the index is valid. */
export function isKnownIndex({ length }: GrowableList, index: DeviceScalar): boolean {
  const union = questions.get(length)?.get(index);
  return union !== undefined && resolved(union) === there;
}

/** Queries by length: paths that make the same query receive the same union. */
const questions = new WeakMap<DeviceScalar, Map<string | DeviceScalar, UnionVariable>>();
export const [there, last, none] = [known('there'), known('at the end'), known('none')];
export const paths = [there, last, none];

/** Returns the option on the current path. Throws UnionMet when a query is made for the first time. */
export function optionFor(
  t: Tracer,
  { length }: GrowableList,
  key: string | DeviceScalar,
  options: readonly Variable[],
  which: () => Tensor,
): Variable {
  const existing = questions.get(length)?.get(key);
  if (existing) return specialized(existing);
  throw new UnionMet(() => {
    const union = chosenBy(t, which(), options, 'an element of an array');
    const known = questions.get(length) ?? new Map<string | DeviceScalar, UnionVariable>();
    // The union is valid only in the branch or loop that computed it.
    t.journal.note(() => known.delete(key));
    questions.set(length, known.set(key, union));
    return union;
  });
}
