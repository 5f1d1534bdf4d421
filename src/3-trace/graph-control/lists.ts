/** What code does to arrays whose length only the program knows. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../runtime/ops/bind.ts';
import { where } from '../../../runtime/ops/comparison.ts';
import { cat, stack } from '../../../runtime/ops/joining.ts';
import { contiguous } from '../../../runtime/ops/movement.ts';
import { eq, ge } from '../../../runtime/ops/pointwise.ts';
import {
  listAt,
  listConcat,
  listPop,
  listPush,
  listSet,
} from '../../../runtime/program/list-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { settled } from '../choices.ts';
import { constantOf } from '../facts.ts';
import type { Tracer } from '../tracer.ts';
import {
  type JoinedVariable,
  known,
  type ListVariable,
  type NewArrayVariable,
  type ScalarVariable,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { check } from './check.ts';
import { type GrownArray, grow, isGrown, setGrown, unknownLength } from './grown-array.ts';
import { elementTensor, lengthScalar, listOfElements } from './list-elements.ts';
import { answerTo, inRange, isThere, last, none, ways } from './list-questions.ts';
import { asNumber, constantTensor, scalarBinary } from './scalars.ts';

/** `push`; answers the new length. */
export function pushGrown(t: Tracer, array: GrownArray, items: readonly Variable[]): Variable {
  for (const item of items) {
    const { items: list, length } = array.grown;
    const element = elementTensor(t, list, item);
    const tensor = t.perform<Tensor>([list.tensor, element], ([to, x]) =>
      bind1(listPush, [to as Tensor, contiguous(x as Tensor)]),
    );
    setGrown(t, array, { items: { ...list, tensor }, length: counted(t, length, 1) });
  }
  return array.grown.length;
}

function counted(t: Tracer, length: ScalarVariable, by: number): ScalarVariable {
  return scalarBinary(t, '+', length, known(by)) as ScalarVariable;
}

/** `pop`. Throws ChoiceMet: on each way it is known whether there is an element. */
export function popGrown(t: Tracer, array: GrownArray): Variable {
  const { items, length } = array.grown;
  const lastPlace = () => counted(t, length, -1);
  if (!isThere(t, array.grown, 'pop', lastPlace)) return undefinedVariable;
  const place = lastPlace();
  const element = elementOf(t, items, place);
  const tensor = t.perform<Tensor>([items.tensor], ([list]) => bind1(listPop, [list as Tensor]));
  setGrown(t, array, { items: { ...items, tensor }, length: place });
  return element;
}

/** `array[index]`, counted from the end where `fromEnd`. Throws ChoiceMet as `popGrown` does. */
export function grownElement(
  t: Tracer,
  { grown }: GrownArray,
  index: number | ScalarVariable,
  fromEnd = false,
): Variable {
  const place = () => {
    if (typeof index !== 'number') return index;
    return fromEnd ? counted(t, grown.length, index) : lengthScalar(t, index);
  };
  const key = typeof index === 'number' ? `${fromEnd} ${index}` : index;
  if (!isThere(t, grown, key, place)) return undefinedVariable;
  return elementOf(t, grown.items, place());
}

/** `array[index] = value`; at its end it grows. */
export function setGrownElement(
  t: Tracer,
  array: GrownArray,
  index: number | ScalarVariable,
  value: Variable,
): void {
  const { items, length } = array.grown;
  const place = () => (typeof index === 'number' ? lengthScalar(t, index) : index);
  const key = typeof index === 'number' ? `set ${index}` : index;
  const which = answerTo(t, items, key, ways, () => {
    const [i, n] = [asNumber(t, place()), asNumber(t, length)];
    const found = inRange(t, i, n);
    return t.runApi(() =>
      noGrad(() => {
        const [zero, one, two] = [0, 1, 2].map((number) => constantTensor(t, number, i.device));
        return where(found, zero!, where(eq(i, n), one!, two!));
      }),
    );
  });
  if (which === last) {
    pushGrown(t, array, [value]);
    return;
  }
  if (which === none) {
    throw new GraphBreak('throw', 'an array is written past its end');
  }
  const element = elementTensor(t, items, value);
  const tensor = t.perform<Tensor>([items.tensor, asNumber(t, place()), element], ([list, i, x]) =>
    bind1(listSet, [list as Tensor, i as Tensor, contiguous(x as Tensor)]),
  );
  setGrown(t, array, { items: { ...items, tensor }, length });
}

const joins: ReadonlyMap<unknown, JoinedVariable['how']> = new Map<unknown, JoinedVariable['how']>([
  [stack, 'stack'],
  [cat, 'cat'],
]);

/**
 * `stack` and `cat` of an array whose length only the program knows: its shape is known after the run, and
 * there it is made. Undefined for other calls.
 */
export function joinGrown(
  t: Tracer,
  fn: unknown,
  [given, dimension]: readonly Variable[],
): JoinedVariable | undefined {
  const how = joins.get(fn);
  const array = given && settled(given);
  if (!how || !array || !isGrown(array)) return undefined;
  const { items, length } = array.grown;
  if (items.of !== 'tensor') throw unknownLength();
  const dim = dimension ? Number(constantOf(t, dimension)) : 0;
  // Without elements it is refused, and so by the code itself.
  const one = constantTensor(t, 1, length.tensor.device);
  check(
    t,
    t.runApi(() => noGrad(() => ge(asNumber(t, length), one))),
    true,
  );
  return { kind: 'joined', how, list: items, dim };
}

/** `length = 0` */
export function clearGrown(t: Tracer, array: GrownArray): void {
  const { items } = array.grown;
  setGrown(t, array, { items: listOfElements(t, [], items), length: lengthScalar(t, 0) });
}

/** The elements of another array go to the end. */
export function appendGrown(t: Tracer, array: NewArrayVariable, other: GrownArray): void {
  const { items, length } = other.grown;
  if (!array.grown && array.elements.length === 0) {
    setGrown(t, array, other.grown);
    return;
  }
  grow(t, array, items);
  const { grown } = array as GrownArray;
  const tensor = t.perform<Tensor>([grown.items.tensor, items.tensor], ([a, b]) =>
    bind1(listConcat, [a as Tensor, b as Tensor]),
  );
  const total = scalarBinary(t, '+', grown.length, length) as ScalarVariable;
  setGrown(t, array, { items: { ...grown.items, tensor }, length: total });
}

/** Whether an iteration goes on; then its next element. Throws ChoiceMet. */
export function stepGrown(
  t: Tracer,
  { grown }: GrownArray,
  position: ScalarVariable,
): { readonly element: Variable; readonly next: ScalarVariable } | null {
  if (!isThere(t, grown, position, () => position)) return null;
  return { element: elementOf(t, grown.items, position), next: counted(t, position, 1) };
}

/** The position of an iteration that has taken so many steps. */
export function startOf(t: Tracer, steps: number): ScalarVariable {
  return lengthScalar(t, steps);
}

function elementOf(t: Tracer, { tensor, of }: ListVariable, index: ScalarVariable): Variable {
  const element = t.perform<Tensor>([tensor, asNumber(t, index)], ([list, i]) =>
    bind1(listAt, [list as Tensor, i as Tensor]),
  );
  return of === 'tensor' ? t.result(element) : { kind: 'scalar', type: of, tensor: element };
}

/** `index in array`. Throws ChoiceMet. */
export function isInGrown(
  t: Tracer,
  { grown }: GrownArray,
  index: number | ScalarVariable,
): boolean {
  const place = () => (typeof index === 'number' ? lengthScalar(t, index) : index);
  return isThere(t, grown, typeof index === 'number' ? `false ${index}` : index, place);
}
