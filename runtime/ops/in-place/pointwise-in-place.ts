/**
 * In-place forms of pointwise ops, made from the records of the ops themselves: the same kernel and the
 * same gradient, written over the first operand. The target keeps its dtype.
 */

import { formatSpec } from '../../device/tensor-meta.ts';
import { DTypeError } from '../../errors/errors.ts';
import { dtypes } from '../../spec/dtype.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { type ClampBounds, clampBounds } from '../pointwise/combining.ts';
import { defineOp, type OpRecord, opNamed } from '../record/define-op.ts';
import { type Keyword, numberFrom } from '../record/positional.ts';
import { add_, fill_, inferTarget, intoTarget, numberIntoTarget } from './in-place.ts';

// The records that the table below names.
import '../pointwise/pointwise.ts';
import { negated } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';

function inPlaceForm(name: string): OpRecord {
  const op = opNamed(name);
  const target = inferTarget(`${name}_`);
  return defineOp({
    name: `${name}_`,
    operands: Object.fromEntries(op.operands.map((operand) => [operand.name, operand.use])),
    infer: (inputs, attrs) => {
      op.infer(inputs, attrs);
      return target(inputs);
    },
    kernel: op.kernel,
    inPlace: true,
    // `flat` ops have no gradient to hand on: their result depends on nothing.
    vjp: op.vjp ?? {},
  });
}

function unary(name: string) {
  const op = inPlaceForm(name);
  return (target: Tensor): Tensor => bind1(op, [target]);
}

/** In-place ops of the tensor alone, by their names without underscore. */
export const unaryInPlace = {
  neg_: unary('neg'),
  abs_: unary('abs'),
  sign_: unary('sign'),
  exp_: unary('exp'),
  exp2_: unary('exp2'),
  expm1_: unary('expm1'),
  log_: unary('log'),
  log2_: unary('log2'),
  log10_: unary('log10'),
  log1p_: unary('log1p'),
  sqrt_: unary('sqrt'),
  rsqrt_: unary('rsqrt'),
  reciprocal_: unary('reciprocal'),
  sin_: unary('sin'),
  cos_: unary('cos'),
  tan_: unary('tan'),
  asin_: unary('asin'),
  acos_: unary('acos'),
  atan_: unary('atan'),
  sinh_: unary('sinh'),
  cosh_: unary('cosh'),
  tanh_: unary('tanh'),
  asinh_: unary('asinh'),
  acosh_: unary('acosh'),
  atanh_: unary('atanh'),
  sigmoid_: unary('sigmoid'),
  relu_: unary('relu'),
  erf_: unary('erf'),
  erfc_: unary('erfc'),
  floor_: unary('floor'),
  ceil_: unary('ceil'),
  round_: unary('round'),
  trunc_: unary('trunc'),
} as const;

const [divInto, divScalarInto] = [inPlaceForm('div'), inPlaceForm('divScalar')];
const [powInto, powScalarInto] = [inPlaceForm('pow'), inPlaceForm('powScalar')];
const [minimumInto, maximumInto] = [inPlaceForm('minimum'), inPlaceForm('maximum')];
const clampInto = inPlaceForm('clamp');

function expectFloatTarget(name: string, target: Tensor): void {
  if (dtypes[target.dtype].floating) return;
  throw new DTypeError({
    what: `${name}: the target's dtype can't hold the result`,
    given: `target ${formatSpec(target)}`,
    expected: 'a float32 target',
    remedy: `use the out-of-place form of ${name}`,
  });
}

/** x −= alpha · y */
export function sub_(target: Tensor, other: Tensor | number, alpha: Keyword<'alpha'> = 1): Tensor {
  return add_(target, other, negated(numberFrom('sub_', 'alpha', alpha, 1)));
}

/** x /= y */
export function div_(target: Tensor, other: Tensor | number): Tensor {
  expectFloatTarget('div_', target);
  return isNumber(other)
    ? bind1(divScalarInto, [target], { value: other })
    : intoTarget(divInto, target, other);
}

/** x = x^y */
export function pow_(target: Tensor, exponent: Tensor | number): Tensor {
  expectFloatTarget('pow_', target);
  return isNumber(exponent)
    ? numberIntoTarget(powScalarInto, target, exponent)
    : intoTarget(powInto, target, exponent);
}

/** Bounds each element by two numbers, either of which may be left out (null); by position or as `{ min, max }`. */
export function clamp_(
  target: Tensor,
  least: ClampBounds<number> = null,
  most: number | null = null,
): Tensor {
  const [min, max] = clampBounds('clamp_', least, most);
  return bind1(clampInto, [target], { min: min ?? -Infinity, max: max ?? Infinity });
}

export function minimum_(target: Tensor, other: Tensor): Tensor {
  return intoTarget(minimumInto, target, other);
}

export function maximum_(target: Tensor, other: Tensor): Tensor {
  return intoTarget(maximumInto, target, other);
}

/** x = x² */
export const square_ = (target: Tensor): Tensor => pow_(target, 2);
export const zero_ = (target: Tensor): Tensor => fill_(target, 0);

export * from './written-over.ts';
