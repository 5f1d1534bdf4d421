/** What lists of a program hold: elements of one kind, dtype and shape. */

import { formatPosition, type UserPosition } from '../../../runtime/errors/position.ts';
import { bind1 } from '../../../runtime/ops/bind.ts';
import { contiguous } from '../../../runtime/ops/movement.ts';
import { elementSpec, listOf } from '../../../runtime/program/list-ops.ts';
import { formatSpec, sameSpec, type TensorSpec } from '../../../runtime/tensor/meta.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { settled } from '../choices.ts';
import { isSize } from '../symbolic.ts';
import { PutOff } from '../tape.ts';
import type { Tracer } from '../tracer.ts';
import type { ListVariable, ScalarVariable, Variable } from '../variable.ts';
import { asNumber, asTruth, constantTensor, scalarBinary, typeOfScalar } from './scalars.ts';

export function lengthScalar(t: Tracer, length: number): ScalarVariable {
  return { kind: 'scalar', type: 'number', tensor: constantTensor(t, length, t.device) };
}

/** A list without elements, of what elements like the sample are. */
export function emptyList(t: Tracer, sample: Variable, at = t.position()): ListVariable {
  const of = elementKind(sample);
  const spec =
    sample.kind === 'tensor'
      ? t.use(sample)
      : ({ dtype: of === 'boolean' ? 'bool' : 'float64', shape: [] } as const);
  return { kind: 'list', tensor: listWithout(t, spec), of, at };
}

/**
 * Without elements. What they will be is taken from a sample that the program need not have: a size of it that
 * an argument has, too, is taken for that one's. Where it isn't, another size is a trace of its own.
 */
function listWithout(t: Tracer, { dtype, shape }: TensorSpec): Tensor {
  const sizes = shape.map((size) => openSizeOf(t, size) ?? size);
  return t.perform<Tensor>([sizes], ([dims]) =>
    bind1(listOf, [], { dtype, shape: dims as number[] }),
  );
}

function openSizeOf(t: Tracer, size: number): PutOff | undefined {
  for (const source of t.sizes.keys.values()) {
    const expr: NumberExpr = { kind: 'source', source };
    if (isSize(source) && t.numbers.value(expr) === size) return new PutOff(expr);
  }
  return undefined;
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
    'list-of-turns',
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
    return { ...like, tensor: listWithout(t, elementSpec(like.tensor)) };
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
export function elementTensor(t: Tracer, list: ListVariable, given: Variable): Tensor {
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
    'list-of-turns',
    `an array that grows in a loop of the program holds ${held}${where(at)} and gets ${what}${where(here)}`,
  );
}
