/** Arrays whose length only the program knows: those that grow and shrink in its loops. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { formatPosition, type UserPosition } from '../../../runtime/errors/position.ts';
import { bind1 } from '../../../runtime/ops/bind.ts';
import { where } from '../../../runtime/ops/comparison.ts';
import { cat, stack } from '../../../runtime/ops/joining.ts';
import { contiguous } from '../../../runtime/ops/movement.ts';
import { eq, ge, logicalAnd, lt, trunc } from '../../../runtime/ops/pointwise.ts';
import {
  elementSpec,
  listAt,
  listConcat,
  listOf,
  listPop,
  listPush,
  listSet,
} from '../../../runtime/program/list-ops.ts';
import { formatSpec, sameSpec } from '../../../runtime/tensor/meta.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { ChoiceMet, resolved, settled } from '../choices.ts';
import { constantOf } from '../facts.ts';
import type { Tracer } from '../tracer.ts';
import {
  type ChoiceVariable,
  type GrownList,
  type JoinedVariable,
  known,
  type ListVariable,
  type NewArrayVariable,
  type ScalarVariable,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { check } from './check.ts';
import { chosenBy } from './choice.ts';
import { asNumber, asTruth, constantTensor, scalarBinary, typeOfScalar } from './scalars.ts';

/** An array that has become a list of the program. */
export type GrownArray = NewArrayVariable & { readonly grown: GrownList };

export function isGrown(variable: Variable): variable is GrownArray {
  return variable.kind === 'newArray' && variable.grown !== undefined;
}

/** Thrown where the length of an array is found to differ from way to way: it is to become a list before. */
export class Grows extends Error {
  override readonly name = 'Grows';
  readonly array: NewArrayVariable;
  readonly sample: Variable;

  constructor(array: NewArrayVariable, sample: Variable) {
    super('the length of an array differs');
    this.array = array;
    this.sample = sample;
  }

  /** Where it can't be one. */
  asBreak(): GraphBreak {
    return new GraphBreak(
      'control-flow',
      'the length of an array that was not made by a literal changes in branches and loops',
    );
  }
}

/**
 * Follows ways; where they find that the length of an array differs, the array becomes a list before them,
 * and they are followed again. One of which a choice of lengths is known is a list from its birth on.
 */
export function withGrown<T>(t: Tracer, follow: () => T): T {
  for (;;) {
    try {
      return follow();
    } catch (error) {
      if (!(error instanceof Grows)) throw error;
      if (!t.control.listsGrow) {
        throw new GraphBreak(
          'control-flow',
          'the length of an array changes in a loop of the graph',
        );
      }
      const { array, sample } = error;
      if (array.grown) throw error;
      if (array.elements.some((element) => resolved(element).kind === 'choice')) {
        if (t.control.depth > 0 || !array.born || array.born.grows) throw error;
        t.control.plans.growFrom(array.born);
      }
      grow(t, array, array.elements[0] ?? sample);
    }
  }
}

/**
 * From here on the length of the array is a value of the program. `sample` is what its elements are like:
 * one of them, or one that it will get.
 */
export function grow(t: Tracer, array: NewArrayVariable, sample: Variable | ListVariable): void {
  if (array.grown) return;
  t.control.plans.usesLists = true;
  const elements = [...array.elements];
  const like = sample.kind === 'list' ? sample : emptyList(t, sample, bornAt(array));
  setGrown(t, array, {
    items: listOfElements(t, elements, like),
    length: lengthScalar(t, elements.length),
  });
}

function bornAt({ born }: NewArrayVariable): UserPosition | undefined {
  const span = born?.code.spans[born.pc];
  return span && born.code.source.position(span.start);
}

function setGrown(t: Tracer, array: NewArrayVariable, grown: GrownList): void {
  const { grown: before, elements } = array;
  t.journal.note(() => Object.assign(array, { grown: before, elements }));
  Object.assign(array, { grown, elements: notThere });
}

/** The content of an array that is made of such lists. */
export function grownArray(items: ListVariable, length: ScalarVariable): NewArrayVariable {
  return { kind: 'newArray', elements: notThere, grown: { items, length } };
}

/** Whoever wants to know the elements one by one can't be followed. */
const notThere: Variable[] = new Proxy([], {
  get() {
    throw unknownLength();
  },
  ownKeys() {
    throw unknownLength();
  },
});

export function unknownLength(): GraphBreak {
  return new GraphBreak(
    'control-flow',
    'an array that has grown in a loop of the program is used in a way that needs its elements one by one',
  );
}

function lengthScalar(t: Tracer, length: number): ScalarVariable {
  return { kind: 'scalar', type: 'number', tensor: constantTensor(t, length, t.device) };
}

/** A list without elements, of what elements like the sample are. */
export function emptyList(t: Tracer, sample: Variable, at = t.position()): ListVariable {
  const of = elementKind(sample);
  const spec =
    sample.kind === 'tensor'
      ? t.use(sample)
      : ({ dtype: of === 'boolean' ? 'bool' : 'float64', shape: [] } as const);
  // For other sizes the elements are others.
  if (of === 'tensor') t.sizes.fixed = true;
  const { dtype, shape } = spec;
  const tensor = t.runApi(() => bind1(listOf, [], { dtype, shape: [...shape] }));
  return { kind: 'list', tensor, of, at };
}

/** What kind of list the value may be in; null: in none. */
export function listable(given: Variable): ListVariable['of'] | null {
  if (given.kind === 'tensor') return 'tensor';
  if (given.kind === 'scalar') return given.type;
  const type = given.kind === 'constant' || given.kind === 'symbolic' ? typeof given.value : '';
  return type === 'number' || type === 'boolean' ? type : null;
}

function elementKind(given: Variable): ListVariable['of'] {
  const kind = listable(given);
  if (kind) return kind;
  throw new GraphBreak(
    'control-flow',
    'an array that grows in a loop of the program holds something else than tensors and numbers',
  );
}

/** Known elements as a list, like another one. */
export function listOfElements(
  t: Tracer,
  elements: readonly Variable[],
  like: ListVariable,
): ListVariable {
  if (elements.length === 0) {
    const { dtype, shape } = elementSpec(like.tensor);
    const tensor = t.runApi(() => bind1(listOf, [], { dtype, shape: [...shape] }));
    return { ...like, tensor };
  }
  const tensors = elements.map((element) => elementTensor(t, like, element));
  const tensor = t.perform<Tensor>(tensors, (items) => {
    const [{ dtype, shape }] = items as [Tensor];
    return bind1(
      listOf,
      items.map((item) => contiguous(item as Tensor)),
      {
        dtype,
        shape: [...shape],
      },
    );
  });
  return { ...like, tensor };
}

/** The element as the list holds it. Throws a break that names both lines where it is another one. */
function elementTensor(t: Tracer, list: ListVariable, given: Variable): Tensor {
  const value = settled(given);
  const spec = elementSpec(list.tensor);
  if (list.of === 'tensor') {
    const tensor = value.kind === 'tensor' ? t.use(value) : undefined;
    if (tensor && sameSpec(tensor, spec)) return tensor;
    throw unlike(list, tensor ? `a ${formatSpec(tensor)} tensor` : `a ${value.kind}`, t.position());
  }
  const type = typeOfScalar(t, value);
  if (type !== list.of) throw unlike(list, `a ${type}`, t.position());
  if (value.kind === 'scalar')
    return list.of === 'boolean' ? asTruth(t, value) : asNumber(t, value);
  if (value.kind === 'symbolic') {
    return (scalarBinary(t, '+', lengthScalar(t, 0), value) as ScalarVariable).tensor;
  }
  return constantTensor(t, (value as { readonly value: number | boolean }).value, t.device);
}

function unlike({ tensor, of, at }: ListVariable, what: string, here?: UserPosition): GraphBreak {
  const held = of === 'tensor' ? `${formatSpec(elementSpec(tensor))} tensors` : `${of}s`;
  const where = (position: UserPosition | undefined) =>
    position ? ` (${formatPosition(position)})` : '';
  return new GraphBreak(
    'control-flow',
    `an array that grows in a loop of the program holds ${held}${where(at)} and gets ${what}${where(here)}`,
  );
}

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

function inRange(t: Tracer, i: Tensor, n: Tensor): Tensor {
  return t.runApi(() => noGrad(() => logicalAnd(logicalAnd(ge(i, 0), lt(i, n)), eq(i, trunc(i)))));
}

/** Throws ChoiceMet; on each way it is known. */
function isThere(
  t: Tracer,
  { items, length }: GrownList,
  key: string | ScalarVariable,
  place: () => ScalarVariable,
): boolean {
  return (
    answerTo(t, items, key, [there, none], () => {
      const found = inRange(t, asNumber(t, place()), asNumber(t, length));
      return t.runApi(() =>
        noGrad(() => {
          const [zero, one] = [0, 1].map((number) => constantTensor(t, number, found.device));
          return where(found, zero!, one!);
        }),
      );
    }) === there
  );
}

/** By what is asked of which list: the ways that follow from one question meet the same answer. */
const questions = new WeakMap<ListVariable, Map<string | ScalarVariable, ChoiceVariable>>();
const [there, last, none] = [known('there'), known('at the end'), known('none')];
const ways = [there, last, none];

function answerTo(
  t: Tracer,
  list: ListVariable,
  key: string | ScalarVariable,
  answers: readonly Variable[],
  which: () => Tensor,
): Variable {
  const existing = questions.get(list)?.get(key);
  if (existing) return settled(existing);
  throw new ChoiceMet(() => {
    const choice = chosenBy(t, which(), answers, 'an element of an array');
    const asked = questions.get(list) ?? new Map<string | ScalarVariable, ChoiceVariable>();
    // It is a value of the branch or turn that it is asked in.
    t.journal.note(() => asked.delete(key));
    questions.set(list, asked.set(key, choice));
    return choice;
  });
}
