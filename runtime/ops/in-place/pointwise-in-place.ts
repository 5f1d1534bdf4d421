/**
 * In-place forms of pointwise ops, derived from the ops' records: the same kernel and gradient, written over the
 * first operand. The target keeps its dtype.
 */

import { formatSpec } from '../../device/tensor-meta.ts';
import { DTypeError } from '../../errors/errors.ts';
import { invariant } from '../../errors/invariant.ts';
import { naming } from '../../errors/naming.ts';
import { dtypes } from '../../spec/dtype.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { abs, maximum, minimum, neg, sign } from '../arithmetic/arithmetic.ts';
import { ceil, type DivOptions, div, floor, round, trunc } from '../arithmetic/division.ts';
import {
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  cos,
  cosh,
  erf,
  erfc,
  exp,
  exp2,
  expm1,
  log,
  log1p,
  log2,
  log10,
  rsqrt,
  sin,
  sinh,
  tan,
} from '../arithmetic/functions.ts';
import { bind1 } from '../core/bind.ts';
import type { Operand } from '../core/promotion.ts';
import { negated } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { relu, sigmoid, tanh } from '../pointwise/activations.ts';
import { type ClampBounds, clamp, clampBounds, isBound } from '../pointwise/combining.ts';
import { pow, reciprocal, sqrt } from '../pointwise/powers.ts';
import { defineOp, type OpRecord, opsIn } from '../record/define-op.ts';
import { type Keyword, numberFrom } from '../record/positional.ts';
import { add_, expectHolds, inferTarget, intoTarget, numberIntoTarget } from './in-place.ts';
import { clampOver, divOver, powOver, roundOver } from './written-over.ts';

/** Unary ops with an in-place form. */
const unary = {
  neg,
  abs,
  sign,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  sigmoid,
  relu,
  erf,
  erfc,
  floor,
  ceil,
  round,
  trunc,
} as const;

const pointwiseOps = opsIn(unary, [clamp, div, maximum, minimum, pow]);

function inPlaceForm(name: string): OpRecord {
  const op = pointwiseOps.get(name);
  invariant(op !== undefined, `no op named ${name}`);
  const target = inferTarget(`${name}_`);
  return defineOp({
    name: `${name}_`,
    operands: Object.fromEntries(op.operands.map((operand) => [operand.name, operand.use])),
    infer: (inputs, attrs) => {
      naming(`${name}_`, () => op.infer(inputs, attrs));
      return target(inputs);
    },
    kernel: op.kernel,
    inPlace: true,
    // `flat` ops pass no gradient on, as if the result depended on no operand.
    vjp: op.vjp ?? {},
  });
}

type UnaryInPlace = {
  readonly [N in keyof typeof unary as `${N}_`]: (target: Tensor) => Tensor;
};

/** Unary in-place ops, by name without underscore. */
export const unaryInPlace = Object.fromEntries(
  Object.keys(unary).map((name) => {
    const op = inPlaceForm(name);
    return [`${name}_`, (target: Tensor): Tensor => bind1(op, [target])];
  }),
) as UnaryInPlace;

export const divInto = inPlaceForm('div');
export const divScalarInto = inPlaceForm('divScalar');
export const powInto = inPlaceForm('pow');
export const powScalarInto = inPlaceForm('powScalar');
export const minimumInto = inPlaceForm('minimum');
export const maximumInto = inPlaceForm('maximum');
export const clampInto = inPlaceForm('clamp');

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
  return naming('sub_', () => add_(target, other, negated(numberFrom('sub_', 'alpha', alpha))));
}

/** x /= y */
export function div_(target: Tensor, other: Operand, options?: DivOptions): Tensor {
  if (options) return divOver(target, other, options);
  expectFloatTarget('div_', target);
  return isNumber(other)
    ? bind1(divScalarInto, [target], { value: other })
    : intoTarget(divInto, target, other);
}

/** x = x^y */
export function pow_(target: Tensor, exponent: Tensor | number): Tensor {
  if (!dtypes[target.dtype].floating) return powOver(target, exponent);
  return isNumber(exponent)
    ? numberIntoTarget(powScalarInto, target, exponent)
    : intoTarget(powInto, target, exponent);
}

/** Rounds half to even; keeps `decimals` decimal places. */
export const round_ = (target: Tensor, decimals: Keyword<'decimals'> = 0): Tensor =>
  decimals === 0 ? unaryInPlace.round_(target) : roundOver(target, decimals);

/** Clamps each element to two bounds, either of which may be omitted (null); by position or as `{ min, max }`. */
export function clamp_(
  target: Tensor,
  least: ClampBounds<Operand> = null,
  most: Operand | null = null,
): Tensor {
  const [min, max] = clampBounds('clamp_', least, most);
  if (!isBound(min) || !isBound(max)) return clampOver(target, min, max);
  for (const bound of [min, max]) if (bound !== null) expectHolds(clampInto, target, bound);
  return bind1(clampInto, [target], { min: min ?? -Infinity, max: max ?? Infinity });
}

export function minimum_(target: Tensor, other: Tensor): Tensor {
  return intoTarget(minimumInto, target, other);
}

export function maximum_(target: Tensor, other: Tensor): Tensor {
  return intoTarget(maximumInto, target, other);
}

/** x = x² */
export const square_ = (target: Tensor): Tensor => naming('square_', () => pow_(target, 2));

export * from './written-over.ts';
