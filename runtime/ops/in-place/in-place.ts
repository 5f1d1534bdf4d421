/** In-place ops: they overwrite the first operand, which becomes the result when gradients are recorded. */

import * as copiesKernels from '../../device/cpu/movement/copies.ts';
import { type Attrs, named, userName } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, DTypeError, ShapeError } from '../../errors/errors.ts';
import { isTensor } from '../../options/is-tensor.ts';
import { type DType, dtypes } from '../../spec/dtype.ts';
import { broadcastShapes, sameShape, sizeOf } from '../../spec/shape.ts';
import { expectHeld } from '../../spec/stored-numbers.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { cast, casting } from '../core/cast.ts';
import { E } from '../expr/expr.ts';
import { isInteger, negated, product } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { type Keyword, numberFrom } from '../record/positional.ts';

const x = E.input(0);
const y = E.input(1);
const z = E.input(2);
const value = E.attr('value');

/** Infers the target's spec: the other operands must broadcast to it, because its shape can't grow. */
export function inferTarget(name: string) {
  return ([target, ...others]: readonly TensorMeta[]) => {
    const empty = sizeOf(target!.shape) === 0;
    if (!empty && target!.shape.some((size, d) => size > 1 && target!.strides[d] === 0)) {
      throw new ArgumentError({
        what: `${name}: several elements of the target are one place in memory`,
        given: `an expanded ${formatSpec(target!)} tensor`,
        expected: 'a target whose elements have memory of their own',
        remedy: 'write to a clone(), or to the tensor before expand()',
      });
    }
    for (const other of others) {
      if (sameShape(broadcastShapes(target!.shape, other.shape, name), target!.shape)) continue;
      throw new ShapeError({
        what: `${name}: the result would be larger than the target`,
        given: `target ${formatSpec(target!)}, operand ${formatSpec(other)}`,
        expected: "an operand that broadcasts to the target's shape",
        remedy: `use the out-of-place form of ${name}`,
      });
    }
    return { dtype: target!.dtype, shape: target!.shape };
  };
}

function inferFloatTarget(name: string) {
  const infer = inferTarget(name);
  return (inputs: readonly TensorMeta[]) => {
    if (inputs.some(({ dtype }) => !dtypes[dtype].floating)) {
      throw new DTypeError({
        what: `${name}: not floating-point tensors`,
        given: inputs.map(formatSpec).join(', '),
        expected: 'float32',
        remedy: "cast them: x.to('float32')",
      });
    }
    return infer(inputs);
  };
}

export const addScaledInto = defineOp({
  name: 'add_',
  operands: { x: 'data', y: 'data' },
  infer: inferTarget('add_'),
  kernel: { kind: 'pointwise', expr: E.add(x, E.mul(y, value)) },
  inPlace: true,
  vjp: {
    x: saving({}, (_saved, dy) => dy),
    y: saving({ y: 'shape' }, ({ y }, dy, { value }) => sumTo(mul(dy, value as number), y)),
  },
});

export const mulInto = defineOp({
  name: 'mul_',
  operands: { x: 'data', y: 'data' },
  infer: inferTarget('mul_'),
  kernel: { kind: 'pointwise', expr: E.mul(x, y) },
  inPlace: true,
  vjp: {
    x: saving({ y: 'value' }, ({ y }, dy) => mul(dy, y)),
    y: saving({ x: 'value', y: 'shape' }, ({ x, y }, dy) => sumTo(mul(dy, x), y)),
  },
});

export const addScalarInto = defineOp({
  name: 'addScalar_',
  operands: { x: 'data' },
  infer: inferTarget('add_'),
  kernel: { kind: 'pointwise', expr: E.add(x, value) },
  inPlace: true,
  vjp: { x: saving({}, (_saved, dy) => dy) },
});

export const mulScalarInto = defineOp({
  name: 'mulScalar_',
  operands: { x: 'data' },
  infer: inferTarget('mul_'),
  kernel: { kind: 'pointwise', expr: E.mul(x, value) },
  inPlace: true,
  vjp: { x: saving({}, (_saved, dy, { value }) => mul(dy, value as number)) },
});

export const fillInto = defineOp({
  name: 'fill_',
  operands: { x: 'data' },
  infer: inferTarget('fill_'),
  kernel: { kind: 'pointwise', expr: value },
  inPlace: true,
  // The result depends on no operand.
  vjp: {},
});

export const copyInto = defineOp({
  name: 'copy_',
  operands: { x: 'data', source: 'data' },
  infer: inferTarget('copy_'),
  kernel: named('copyInto', copiesKernels.copyInto),
  layout: 'any',
  inPlace: true,
  vjp: { source: saving({ source: 'shape' }, ({ source }, dy) => sumTo(dy, source)) },
});

/** Returns a gradient in the operand's shape and dtype, which may differ from the target's. */
const gradientOf = (operand: TensorMeta, gradient: Tensor): Tensor =>
  cast(sumTo(gradient, operand), operand.dtype);

export const addcmulInto = defineOp({
  name: 'addcmul_',
  operands: { x: 'data', y: 'data', z: 'data' },
  infer: inferTarget('addcmul_'),
  kernel: { kind: 'pointwise', expr: E.add(x, E.mul(E.mul(y, z), value)) },
  inPlace: true,
  vjp: {
    x: saving({}, (_saved, dy) => dy),
    y: saving({ y: 'shape', z: 'value' }, ({ y, z }, dy, { value }) =>
      gradientOf(y, mul(mul(dy, z), value as number)),
    ),
    z: saving({ y: 'value', z: 'shape' }, ({ y, z }, dy, { value }) =>
      gradientOf(z, mul(mul(dy, y), value as number)),
    ),
  },
});

export const addcdivInto = defineOp({
  name: 'addcdiv_',
  operands: { x: 'data', y: 'data', z: 'data' },
  infer: inferFloatTarget('addcdiv_'),
  kernel: { kind: 'pointwise', expr: E.add(x, E.mul(E.div(y, z), value)) },
  inPlace: true,
  vjp: {
    x: saving({}, (_saved, dy) => dy),
    y: saving({ y: 'shape', z: 'value' }, ({ y, z }, dy, { value }) =>
      gradientOf(y, mul(div(dy, z), value as number)),
    ),
    z: saving({ y: 'value', z: 'value' }, ({ y, z }, dy, { value }) =>
      gradientOf(z, mul(div(mul(dy, y), mul(z, z)), negated(value as number))),
    ),
  },
});

/** Ranks dtypes as boolean, integer, floating-point: a target accepts operands up to its own rank, as in PyTorch. */
export function kindRank(dtype: DType): number {
  if (dtypes[dtype].floating) return 2;
  return dtype === 'bool' ? 0 : 1;
}

/** Runs the op on the target, with the other operand in the target's dtype. */
export function intoTarget(op: OpRecord, target: Tensor, other: Tensor, attrs: Attrs = {}): Tensor {
  expectTensor(op, other);
  expectNoHigherKind(op, target, other);
  if (other.dtype === target.dtype) return bind1(op, [target, other], attrs);
  return casting([other], target.dtype, ([operand]) => bind1(op, [target, operand!], attrs));
}

export function numberIntoTarget(op: OpRecord, target: Tensor, value: number): Tensor {
  expectHolds(op, target, value);
  return bind1(op, [target], { value });
}

/** Throws DTypeError for a number that a tensor of the target's dtype can't hold. */
export function expectHolds(op: OpRecord, target: Tensor, value: number): void {
  const { dtype } = target;
  if (dtypes[dtype].floating || (dtype !== 'bool' && isInteger(value))) return;
  throw lossy(userName(op), formatSpec(target), String(value));
}

/** Runs the op on the target, with integers and booleans among the operands in the target's dtype. */
function productIntoTarget(
  op: OpRecord,
  target: Tensor,
  operands: readonly Tensor[],
  value: number,
): Tensor {
  expectTensors(op.name, target, ...operands);
  expectHolds(op, target, value);
  for (const operand of operands) expectNoHigherKind(op, target, operand);
  const run = (operands: readonly Tensor[]): Tensor => bind1(op, [target, ...operands], { value });
  return operands.every(({ dtype }) => dtypes[dtype].floating)
    ? run(operands)
    : casting(operands, target.dtype, run);
}

function expectNoHigherKind(op: OpRecord, target: Tensor, operand: Tensor): void {
  if (kindRank(operand.dtype) <= kindRank(target.dtype)) return;
  throw lossy(op.name, formatSpec(target), formatSpec(operand));
}

function lossy(name: string, target: string, other: string): DTypeError {
  return new DTypeError({
    what: `${name}: the target's dtype can't hold the result`,
    given: `target ${target}, operand ${other}`,
    expected: 'an operand that the dtype of the target can hold',
    remedy: `use the out-of-place form of ${name}, or cast the operand`,
  });
}

/** x += alpha · y */
export function add_(
  target: Tensor,
  other: Tensor | number,
  alphaOrOptions: Keyword<'alpha'> = 1,
): Tensor {
  const alpha = numberFrom('add_', 'alpha', alphaOrOptions);
  if (isNumber(other)) return numberIntoTarget(addScalarInto, target, product(other, alpha));
  if (alpha !== 1) expectHolds(addScaledInto, target, alpha);
  return intoTarget(addScaledInto, target, other, { value: alpha });
}

/** x *= y */
export function mul_(target: Tensor, other: Tensor | number): Tensor {
  return isNumber(other)
    ? numberIntoTarget(mulScalarInto, target, other)
    : intoTarget(mulInto, target, other);
}

/** Sets all elements to a number, or to the value of a tensor without dimensions, converted to the target's dtype. */
export function fill_(target: Tensor, value: number | Tensor): Tensor {
  expectTensors('fill_', target);
  if (isTensor(value)) return filledWith(target, value as Tensor);
  expectHeld(value as number, target.dtype, 'fill_');
  return bind1(fillInto, [target], { value: value as number });
}

function filledWith(target: Tensor, value: Tensor): Tensor {
  if (value.rank === 0) return copy_(target, value);
  throw new ShapeError({
    what: 'fill_: the value has dimensions',
    given: formatSpec(value),
    expected: 'a number, or a tensor without dimensions',
    remedy: 'copy a tensor with copy_',
  });
}

/** Copies from any dtype, with conversion. */
export function copy_(target: Tensor, source: Tensor): Tensor {
  expectTensors('copy_', target, source);
  return casting([source], target.dtype, ([values]) => bind1(copyInto, [target, values!]));
}

/** x += value · y · z */
export function addcmul_(
  target: Tensor,
  y: Tensor,
  z: Tensor,
  valueOrOptions: Keyword<'value'> = 1,
): Tensor {
  const value = numberFrom('addcmul_', 'value', valueOrOptions);
  return productIntoTarget(addcmulInto, target, [y, z], value);
}

/** x += value · y / z */
export function addcdiv_(
  target: Tensor,
  y: Tensor,
  z: Tensor,
  valueOrOptions: Keyword<'value'> = 1,
): Tensor {
  const value = numberFrom('addcdiv_', 'value', valueOrOptions);
  return productIntoTarget(addcdivInto, target, [y, z], value);
}
