/** Operations of user code on arrays of data-dependent length. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import { eq } from '../../../runtime/ops/pointwise/pointwise.ts';
import {
  listAt,
  listConcat,
  listPop,
  listPush,
  listSet,
} from '../../../runtime/program/list-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import {
  type GrowableArray,
  Grows,
  grow,
  setGrowable,
} from '../control-flow/lists/growable-array.ts';
import {
  asElement,
  elementOf,
  expectAlike,
  growableOf,
  leavesOf,
  lengthScalar,
  noteCopied,
} from '../control-flow/lists/list-elements.ts';
import { formOf, formText, joinForms, unlike } from '../control-flow/lists/list-tree-spec.ts';
import { asNumber, constantTensor, scalarBinary } from '../control-flow/numbers/scalars.ts';
import { expectUnlisted, markListed } from '../state/listed.ts';
import { idOf } from '../state/object-ids.ts';
import type { Tracer } from '../state/tracer.ts';
import type { GrowableList } from '../variables/growable-list.ts';
import {
  type DeviceScalar,
  known,
  type NewArrayVariable,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import {
  inRange,
  isKnownIndex,
  isThere,
  last,
  none,
  optionFor,
  paths,
  there,
} from './list-questions.ts';

/** `push`; returns the new length. */
export function pushGrowable(
  t: Tracer,
  array: GrowableArray,
  items: readonly Variable[],
): Variable {
  expectUnlisted(array);
  const rows = items.map((item) => leavesFor(t, array, item));
  for (const row of rows) {
    const { length } = array.growable;
    changeLists(t, array, counted(t, length, 1), (list, i) => {
      const longer = t.perform<Tensor>([list, row[i]!], ([to, x]) =>
        bind1(listPush, [to as Tensor, asElement(to as Tensor, x as Tensor)]),
      );
      noteCopied(t, longer, [row[i]!]);
      return longer;
    });
  }
  for (const item of items) markListed(t, item);
  return array.growable.length;
}

/**
 * Returns the element's value for each list. If the array needs a wider form, throws Grows so that it becomes a list
 * again.
 */
function leavesFor(t: Tracer, array: GrowableArray, item: Variable): Tensor[] {
  const { form } = array.growable;
  const other = formOf(t, item);
  const wide = other && joinForms(t, form, other);
  if (wide && formText(t, wide) !== formText(t, form)) {
    throw new Grows(array, wide, unlike(t, form, item));
  }
  return leavesOf(t, form, item);
}

/** Replaces the array's lists. */
function changeLists(
  t: Tracer,
  array: GrowableArray,
  length: DeviceScalar,
  change: (list: Tensor, index: number) => Tensor,
): void {
  const { form, lists } = array.growable;
  const changed = lists.map((list, i) => ({ ...list, tensor: change(list.tensor, i) }));
  setGrowable(t, array, { form, lists: changed, length });
}

function counted(t: Tracer, length: DeviceScalar, by: number): DeviceScalar {
  return scalarBinary(t, '+', length, known(by)) as DeviceScalar;
}

/** `pop`. Throws UnionMet, after which each path knows whether there is an element. */
export function popGrowable(t: Tracer, array: GrowableArray): Variable {
  expectUnlisted(array);
  const { growable } = array;
  const lastPlace = () => counted(t, growable.length, -1);
  if (!isThere(t, growable, 'pop', lastPlace)) return undefinedVariable;
  const place = lastPlace();
  const element = elementAtPlace(t, growable, place);
  changeLists(t, array, place, (list) =>
    t.perform<Tensor>([list], ([current]) => bind1(listPop, [current as Tensor])),
  );
  return element;
}

/** `array[index]`, counted from the end if `fromEnd`. Throws UnionMet like `popGrowable`. */
export function growableElement(
  t: Tracer,
  { growable }: GrowableArray,
  index: number | DeviceScalar,
  fromEnd = false,
): Variable {
  const place = () => {
    if (typeof index !== 'number') return index;
    return fromEnd ? counted(t, growable.length, index) : lengthScalar(t, index);
  };
  const key = typeof index === 'number' ? `${fromEnd} ${index}` : index;
  if (!isThere(t, growable, key, place)) return undefinedVariable;
  return elementAtPlace(t, growable, place());
}

/** `array[index] = value`; grows the array if the index is its end. */
export function setGrowableElement(
  t: Tracer,
  array: GrowableArray,
  index: number | DeviceScalar,
  value: Variable,
): void {
  expectUnlisted(array);
  const { length } = array.growable;
  const place = () => (typeof index === 'number' ? lengthScalar(t, index) : index);
  const key = `set ${typeof index === 'number' ? index : idOf(index)}`;
  const isKnown = typeof index !== 'number' && isKnownIndex(array.growable, index);
  const which = isKnown
    ? there
    : optionFor(t, array.growable, key, paths, () => {
        const [i, n] = [asNumber(t, place()), asNumber(t, length)];
        const found = inRange(t, i, n);
        const [zero, one, two] = [0, 1, 2].map((number) => constantTensor(t, number, i.device));
        return t.runApi(() => noGrad(() => where(found, zero!, where(eq(i, n), one!, two!))));
      });
  if (which === last) {
    pushGrowable(t, array, [value]);
    return;
  }
  if (which === none) throw new GraphBreak('throw', 'an array is written past its end');
  const leaves = leavesFor(t, array, value);
  const at = asNumber(t, place());
  changeLists(t, array, length, (list, leaf) => {
    const changed = t.perform<Tensor>([list, at, leaves[leaf]!], ([current, i, x]) =>
      bind1(listSet, [current as Tensor, i as Tensor, asElement(current as Tensor, x as Tensor)]),
    );
    noteCopied(t, changed, [leaves[leaf]!]);
    return changed;
  });
  markListed(t, value);
}

/** `length = 0` */
export function clearGrowable(t: Tracer, array: GrowableArray): void {
  expectUnlisted(array);
  setGrowable(t, array, growableOf(t, [], array.growable.form));
}

/** Appends the elements of another array. */
export function appendGrowable(t: Tracer, array: NewArrayVariable, other: GrowableArray): void {
  expectUnlisted(array);
  if (!array.growable && array.elements.length === 0) {
    setGrowable(t, array, other.growable);
    return;
  }
  grow(t, array, other.growable.form);
  const { form, length } = (array as GrowableArray).growable;
  if (formText(t, form) !== formText(t, other.growable.form)) {
    const wide = joinForms(t, form, other.growable.form);
    const refused = unlike(t, form, other);
    throw wide ? new Grows(array, wide, refused) : refused;
  }
  const more = other.growable;
  const total = scalarBinary(t, '+', length, more.length) as DeviceScalar;
  changeLists(t, array as GrowableArray, total, (list, i) =>
    t.perform<Tensor>([list, more.lists[i]!.tensor], ([a, b]) => {
      expectAlike(a as Tensor, b as Tensor);
      return bind1(listConcat, [a as Tensor, b as Tensor]);
    }),
  );
}

/** Returns the next element and position; null at the end. Throws UnionMet. */
export function stepGrowable(
  t: Tracer,
  { growable }: GrowableArray,
  position: DeviceScalar,
): { readonly element: Variable; readonly next: DeviceScalar } | null {
  if (!isThere(t, growable, position, () => position)) return null;
  return { element: elementAtPlace(t, growable, position), next: counted(t, position, 1) };
}

/** Returns the position of an iteration after this many steps. */
export function startOf(t: Tracer, steps: number): DeviceScalar {
  return lengthScalar(t, steps);
}

/** Returns the element at an index that is known to be valid. */
function elementAtPlace(t: Tracer, growable: GrowableList, index: DeviceScalar): Variable {
  const at = asNumber(t, index);
  const leaves = growable.lists.map(({ tensor }) =>
    t.perform<Tensor>([tensor, at], ([list, i]) => bind1(listAt, [list as Tensor, i as Tensor])),
  );
  return elementOf(t, growable, leaves);
}

/** `index in array`. Throws UnionMet. */
export function isInGrowable(
  t: Tracer,
  { growable }: GrowableArray,
  index: number | DeviceScalar,
): boolean {
  const place = () => (typeof index === 'number' ? lengthScalar(t, index) : index);
  return isThere(t, growable, typeof index === 'number' ? `false ${index}` : index, place);
}
