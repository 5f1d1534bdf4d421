/**
 * Lists that grow and shrink while a program runs: the arrays of its loops. A list is a value of shape [0, …element].
 * Ops return a new list and don't change the old one, unless it is dead: then they reuse its memory. Gradients of lists
 * are lists.
 */

import type { Attrs } from '../device/kernel-op.ts';
import type { TensorMeta, TensorSpec } from '../device/tensor-meta.ts';
import { bind1 } from '../ops/core/bind.ts';
import { type Gradient, type OpRecord, saving } from '../ops/record/define-op.ts';
import type { DType } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';

type Infer = (inputs: readonly TensorMeta[], attrs: Attrs) => readonly TensorSpec[];

interface ListOp {
  readonly operands: readonly string[];
  readonly variadic?: boolean;
  readonly infer: Infer;
  readonly vjp?: Readonly<Record<string, Gradient>>;
  /** Whether the result is the gradient of an element, which is missing if no op has read the element. */
  readonly optional?: boolean;
}

function listOp(
  name: string,
  { operands, variadic = false, infer, vjp, optional = false }: ListOp,
): OpRecord {
  return {
    name,
    operands: operands.map((operand) => ({ name: operand, use: 'data' })),
    variadic,
    infer,
    kernel: { kind: 'control', form: 'list' },
    layout: 'contiguous',
    inPlace: false,
    vjp,
    flat: vjp === undefined,
    optional,
  };
}

/** Returns the spec of the tensor that represents a list of such elements. */
export function listSpec({ dtype, shape }: TensorSpec): TensorSpec {
  return { dtype, shape: [0, ...shape] };
}

/** Returns the spec of the elements of such a list. */
export function elementSpec({ dtype, shape }: TensorSpec): TensorSpec {
  return { dtype, shape: shape.slice(1) };
}

const mark: TensorSpec = { dtype: 'bool', shape: [0] };
const sameList: Infer = ([list]) => [list!];
const element: Infer = ([list]) => [elementSpec(list!)];

/** (gradient of a list) → the gradient of element attr `index`, counted from the end if negative. */
const listGradientAt = listOp('listGradientAt', {
  operands: ['list'],
  infer: element,
  optional: true,
});
/** (gradient of a list) → the gradient without the last element. */
const listDrop = listOp('listDrop', { operands: ['list'], infer: sameList });
/** (gradient of a list) → the gradient with one more element, whose gradient is missing. */
const listExtend = listOp('listExtend', { operands: ['list'], infer: sameList });
/** (mark, gradient) → the gradient of a list from which that element was read. */
const listPut = listOp('listPut', {
  operands: ['mark', 'gradient'],
  infer: ([, gradient]) => [listSpec(gradient!)],
});
/** (gradient of a list, mark) → the gradient without that element's. */
const listClear = listOp('listClear', { operands: ['list', 'mark'], infer: sameList });
/** (gradient of a list, mark) → the gradient of that element. */
const listTake = listOp('listTake', { operands: ['list', 'mark'], infer: element, optional: true });
/** (gradient of a list, mark) → the gradients of the elements before the mark. */
const listHead = listOp('listHead', { operands: ['list', 'mark'], infer: sameList });
/** (gradient of a list, mark) → the gradients of the elements from the mark on. */
const listTail = listOp('listTail', { operands: ['list', 'mark'], infer: sameList });
/** The sum of two gradients of one list, element by element. */
export const listAdd = listOp('listAdd', { operands: ['a', 'b'], infer: sameList });

/** (...elements) → a list of them; attrs `dtype` and `shape` of an element. */
export const listOf = listOp('listOf', {
  operands: ['items'],
  variadic: true,
  infer: (_inputs, { dtype, shape }) => [
    listSpec({ dtype: dtype as DType, shape: shape as Shape }),
  ],
  vjp: { items: saving({}, (_saved, dy, _attrs, index) => bind1(listGradientAt, [dy], { index })) },
});

/** (list, element) → the list with the element appended. */
export const listPush = listOp('listPush', {
  operands: ['list', 'item'],
  infer: sameList,
  vjp: {
    list: saving({}, (_saved, dy) => bind1(listDrop, [dy])),
    item: saving({}, (_saved, dy) => bind1(listGradientAt, [dy], { index: -1 })),
  },
});

/** (list) → the list without its last element. */
export const listPop = listOp('listPop', {
  operands: ['list'],
  infer: sameList,
  vjp: { list: saving({}, (_saved, dy) => bind1(listExtend, [dy])) },
});

/** (list, index) → the element there, and a mark. The index must be in range. */
export const listAt = listOp('listAt', {
  operands: ['list', 'index'],
  infer: ([list]) => [elementSpec(list!), mark],
  vjp: { list: saving({ out1: 'value' }, ({ out1 }, dy) => bind1(listPut, [out1, dy])) },
});

/** (list, index, element) → the list with that element replaced, and a mark. */
export const listSet = listOp('listSet', {
  operands: ['list', 'index', 'item'],
  infer: ([list]) => [list!, mark],
  vjp: {
    list: saving({ out1: 'value' }, ({ out1 }, dy) => bind1(listClear, [dy, out1])),
    item: saving({ out1: 'value' }, ({ out1 }, dy) => bind1(listTake, [dy, out1])),
  },
});

/** (list, list) → the concatenated list, and a mark at the start of the second list's elements. */
export const listConcat = listOp('listConcat', {
  operands: ['head', 'tail'],
  infer: ([head]) => [head!, mark],
  vjp: {
    head: saving({ out1: 'value' }, ({ out1 }, dy) => bind1(listHead, [dy, out1])),
    tail: saving({ out1: 'value' }, ({ out1 }, dy) => bind1(listTail, [dy, out1])),
  },
});

export const listOps: readonly OpRecord[] = [
  listOf,
  listPush,
  listPop,
  listAt,
  listSet,
  listConcat,
  listGradientAt,
  listDrop,
  listExtend,
  listPut,
  listClear,
  listTake,
  listHead,
  listTail,
  listAdd,
];

/**
 * Whether a value may be a list or a tensor of data-dependent shape; how two of them are added is known only at run
 * time.
 */
export function mayBeList({ shape }: TensorSpec): boolean {
  return shape[0] === 0;
}

/** Whether the op is a sum of values that are all lists: the engine adds gradients without knowing their form. */
export function isListSum({ name }: OpRecord, inputs: readonly TensorSpec[]): boolean {
  return name === 'add' && inputs.length === 2 && inputs.every(mayBeList);
}
