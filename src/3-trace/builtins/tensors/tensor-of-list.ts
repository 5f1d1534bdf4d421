/** `tensor(list)` of an array of data-dependent length: a row per element. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { cast } from '../../../../runtime/ops/core/cast.ts';
import { zeros } from '../../../../runtime/ops/movement/create.ts';
import { stack } from '../../../../runtime/ops/movement/joining.ts';
import type { DType } from '../../../../runtime/spec/dtype.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { GrowableArray } from '../../control-flow/lists/growable-array.ts';
import { growableArray, unknownLength } from '../../control-flow/lists/list-elements.ts';
import type { Tracer } from '../../state/tracer.ts';
import { callDynamically } from '../../values/call-dynamically.ts';
import type { LeafForm } from '../../variables/growable-list.ts';
import { known, newArray, undefinedVariable, type Variable } from '../../variables/variable.ts';

/** Elements that are numbers or booleans, or arrays of a known number of them. */
interface NumberList {
  readonly leaves: readonly LeafForm[];
  /** The arrays that hold each of the elements' numbers, as tensors. */
  readonly columns: readonly Variable[];
  readonly isFlat: boolean;
}

/** Returns the lists of numbers that an array consists of. Throws a graph break for other elements. */
export function numbersOf({ growable: { form, lists, length } }: GrowableArray): NumberList {
  const parts = form.kind === 'array' ? form.parts : [form];
  const leaves = parts.filter((part): part is LeafForm => part.kind === 'leaf');
  const areNumbers = leaves.length === parts.length && leaves.every(({ of }) => of !== 'tensor');
  if (!areNumbers || parts.length === 0) throw unknownLength();
  const columns = leaves.map((leaf, i): Variable => {
    return growableArray({
      form: { ...leaf, of: 'tensor' },
      lists: [{ ...lists[i]!, of: 'tensor' }],
      length,
    });
  });
  return { leaves, columns, isFlat: form.kind === 'leaf' };
}

/** Appends the call that creates the tensor, whose shape is data-dependent. `given`: the dtype of the options. */
export function tensorOfList(
  t: Tracer,
  { leaves, columns, isFlat }: NumberList,
  requested: DType | undefined,
): Variable {
  const dtype = requested ?? (leaves.every(({ of }) => of === 'boolean') ? 'bool' : 'float32');
  // An empty array says nothing about its elements: without a dtype, its tensor is float32, of no columns.
  const mayBeEmpty = isFlat && dtype === (requested ?? 'float32');
  const args = [newArray(columns), known(dtype), known(isFlat), known(mayBeEmpty)];
  const result = callDynamically(t, tensorOfColumns as never, undefinedVariable, args);
  if (!result) throw unknownLength();
  return result;
}

/** Throws, so that the run ends without an effect, if the program can't represent the tensor of an empty array. */
const tensorOfColumns = Object.defineProperty(
  (
    columns: readonly (readonly Tensor[])[],
    dtype: DType,
    isFlat: boolean,
    mayBeEmpty: boolean,
  ): Tensor =>
    noGrad(() => {
      if (columns[0]!.length === 0 && mayBeEmpty) return zeros([0], { dtype });
      const converted = columns.map((column) => cast(stack([...column]), dtype));
      return isFlat ? converted[0]! : stack(converted, 1);
    }),
  'name',
  { value: 'tensor' },
);
