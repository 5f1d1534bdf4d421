/** Binary functions beyond arithmetic. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { anyOperand, flag } from '../../options/option-kinds.ts';
import { dtypes, promote } from '../../spec/dtype.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { abs, add, mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { isnan, logicalAnd, logicalNot, logicalOr } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { cast, casting } from '../core/cast.ts';
import {
  bindFloats,
  floating,
  inferBinary,
  inferBool,
  type Operand,
  pointwise,
} from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { E, type Expr } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { fullLike } from '../movement/ranges.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp, expectTensor, saving } from '../record/define-op.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';
import { type Keyword, numberFrom } from '../record/positional.ts';
import { dropWhere, eq, ge, keepWhere, le, lt, where } from './comparison.ts';
import { pow } from './powers.ts';

const x = E.input(0);
const y = E.input(1);
const isMissing = (a: Expr): Expr =>
  E.eq(E.add(E.gt(a, E.const(0)), E.le(a, E.const(0))), E.const(0));

/** Defines an extreme that returns the other operand if one is NaN. */
function ignoringNaN(
  name: 'fmax' | 'fmin',
  choose: typeof E.max,
  first: (a: Tensor, b: Tensor) => Tensor,
) {
  const chosen = (a: Tensor, b: Tensor) => logicalOr(first(a, b), isnan(b));
  // As in PyTorch, each operand gets half of the gradient at a tie.
  const half = (dy: Tensor, a: Tensor, b: Tensor, untied: Tensor) =>
    where(eq(a, b), mul(dy, 0.5), untied);
  const op = defineOp({
    name,
    operands: { x: 'data', y: 'data' },
    infer: inferBinary(name),
    kernel: pointwise(E.select(isMissing(y), x, E.select(isMissing(x), y, choose(x, y)))),
    vjp: {
      x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) =>
        sumTo(half(dy, x, y, keepWhere(dy, chosen(x, y))), x),
      ),
      y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) =>
        sumTo(half(dy, x, y, dropWhere(dy, chosen(x, y))), y),
      ),
    },
  });
  return (a: Tensor, b: Tensor): Tensor => {
    expectTensor(op, a);
    expectTensor(op, b);
    return casting([a, b], promote(a.dtype, b.dtype), (operands) => bind1(op, operands));
  };
}

/** The elementwise maximum; the other operand if one is NaN. */
export const fmax = ignoringNaN('fmax', E.max, ge);
/** The elementwise minimum; the other operand if one is NaN. */
export const fmin = ignoringNaN('fmin', E.min, le);

const isInfinite = (side: Expr): Expr => E.eq(E.abs(side), E.const(Infinity));
const larger = E.max(E.abs(x), E.abs(y));
const ratio = E.div(E.min(E.abs(x), E.abs(y)), larger);
export const hypotOp = defineOp({
  name: 'hypot',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('hypot'),
  // Scaled by the larger side, so that squares neither overflow nor underflow. An infinite side makes the result
  // infinite, even if the other is NaN.
  kernel: pointwise(
    E.select(
      E.select(isInfinite(x), E.const(1), isInfinite(y)),
      E.const(Infinity),
      E.select(
        E.eq(larger, E.const(0)),
        larger,
        E.mul(larger, E.sqrt(E.add(E.const(1), E.mul(ratio, ratio)))),
      ),
    ),
  ),
  vjp: {
    x: saving({ x: 'value', y: 'shape', out: 'value' }, ({ x, out }, dy) =>
      sumTo(mul(dy, div(x, out)), x),
    ),
    y: saving({ y: 'value', x: 'shape', out: 'value' }, ({ y, out }, dy) =>
      sumTo(mul(dy, div(y, out)), y),
    ),
  },
});

/** √(x² + y²), without intermediate overflow. */
export const hypot = (a: Tensor, b: Tensor): Tensor => {
  expectTensors('hypot', a, b);
  return bindFloats(hypotOp, a, b);
};

/** log(eˣ + eʸ) in the base of `power`, without overflow. */
function logOfSum(name: 'logaddexp' | 'logaddexp2', logOfOnePlus: (gap: Expr) => Expr) {
  const base = name === 'logaddexp' ? 1 : Math.LN2;
  // The fraction of x in the sum: 1 / (1 + e^(y − x)).
  const share = (a: Tensor, b: Tensor): Tensor => bind1(shareOp, [a, b]);
  const shareOp = defineOp({
    name: `${name}Share`,
    operands: { x: 'data', y: 'data' },
    infer: inferBinary(name),
    kernel: pointwise(
      E.select(E.eq(x, y), E.const(0.5), F.sigmoid(E.mul(E.sub(x, y), E.const(base)))),
    ),
    vjp: {
      x: saving({ x: 'shape', out: 'value' }, ({ x, out }, dy) =>
        sumTo(mul(mul(mul(dy, out), add(neg(out), 1)), base), x),
      ),
      y: saving({ y: 'shape', out: 'value' }, ({ y, out }, dy) =>
        sumTo(mul(mul(mul(dy, out), add(neg(out), 1)), -base), y),
      ),
    },
  });
  const op = defineOp({
    name,
    operands: { x: 'data', y: 'data' },
    infer: inferBinary(name),
    // Equal operands are handled separately: the difference of two infinities is NaN.
    kernel: pointwise(
      E.select(
        E.eq(x, y),
        E.add(x, E.const(name === 'logaddexp' ? Math.LN2 : 1)),
        E.add(E.max(x, y), logOfOnePlus(E.neg(E.abs(E.sub(x, y))))),
      ),
    ),
    vjp: {
      x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(mul(dy, share(x, y)), x)),
      y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(mul(dy, share(y, x)), y)),
    },
  });
  return (a: Tensor, b: Tensor): Tensor => bindFloats(op, a, b);
}

/** ln(eˣ + eʸ) */
export const logaddexp = logOfSum('logaddexp', (gap) => F.log1p(E.exp(gap)));
/** log₂(2ˣ + 2ʸ) */
export const logaddexp2 = logOfSum('logaddexp2', (gap) =>
  E.mul(F.log1p(E.exp2(gap)), E.const(Math.LOG2E)),
);

export const heavisideOp = defineOp({
  name: 'heaviside',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('heaviside'),
  kernel: pointwise(
    E.select(
      E.eq(x, E.const(0)),
      y,
      E.select(E.gt(x, E.const(0)), E.const(1), E.select(isMissing(x), x, E.const(0))),
    ),
  ),
  flat: true,
});

/** 0 below 0, 1 above, `values` at 0. */
export const heaviside = (a: Tensor, values: Tensor): Tensor => {
  expectTensors('heaviside', a, values);
  expectTensor(heavisideOp, values);
  return casting([a, values], promote(a.dtype, values.dtype), (converted) =>
    bind1(heavisideOp, converted),
  );
};

/** The sign of −0 is only visible in its inverse. */
const isNegative = (a: Expr): Expr =>
  E.select(E.eq(a, E.const(0)), E.lt(E.div(E.const(1), a), E.const(0)), E.lt(a, E.const(0)));

export const copysignOp = defineOp({
  name: 'copysign',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('copysign'),
  kernel: pointwise(E.select(isNegative(y), E.neg(E.abs(x)), E.abs(x))),
  vjp: {
    // The derivative is 1 where the sign was kept, −1 where it was flipped, and 0 at 0.
    x: saving({ x: 'value', out: 'value' }, ({ x, out }, dy) => {
      const same = eq(x, out);
      const slope = sub(mul(cast(same, dy.dtype), 2), 1);
      return sumTo(dropWhere(mul(dy, slope), eq(x, 0)), x);
    }),
  },
});

/** The magnitude of `a` with the sign of `b`. */
export function copysign(a: Tensor, b: Operand): Tensor {
  if (!isNumber(b)) return bindFloats(copysignOp, a, b);
  expectTensors('copysign', a);
  return tidy(() =>
    bindFloats(copysignOp, a, fullLike(a, b, { shape: [], dtype: floating(a.dtype) })),
  );
}

export const signbitOp = defineOp({
  name: 'signbit',
  operands: { x: 'data' },
  infer: inferBool,
  kernel: pointwise(isNegative(x)),
});

/** Whether the sign is negative, including that of −0. */
export function signbit(a: Tensor): Tensor {
  expectTensors('signbit', a);
  return dtypes[a.dtype].floating ? bind1(signbitOp, [a]) : lt(a, 0);
}

/** `sub` with its operands swapped: other − alpha · a. */
export function rsub(a: Tensor, other: Operand, alphaOrOptions: Keyword<'alpha'> = 1): Tensor {
  return naming('rsub', () => {
    expectTensors('rsub', a);
    expectOperand('rsub', other);
    const alpha = numberFrom('rsub', 'alpha', alphaOrOptions);
    if (alpha !== 1 && anyHalf(a, other)) {
      return roundedOnce([a, other], (x, y) => rsub(x, y, alpha));
    }
    return tidy(() => {
      const scaled = alpha === 1 ? a : mul(a, alpha);
      return isNumber(other) ? add(neg(scaled), other) : sub(other, scaled);
    });
  });
}

/** `pow` in float64, for any operands. */
export function floatPower(base: Operand, exponent: Operand): Tensor {
  return naming('floatPower', () => {
    expectOperand('floatPower', base);
    expectOperand('floatPower', exponent);
    const real = (operand: Operand) => (isNumber(operand) ? operand : cast(operand, 'float64'));
    return tidy(() => {
      const result = pow(real(base), real(exponent));
      return result === base ? add(result, 0) : result;
    });
  });
}

export interface ClosenessOptions {
  /** The relative tolerance. 1e-5 by default. */
  readonly rtol?: number;
  /** The absolute tolerance. 1e-8 by default. */
  readonly atol?: number;
  /** Whether two NaNs count as close. */
  readonly equalNan?: boolean;
}

/** |a − b|: exact for integers, unless the exact difference would wrap, which is computed in float32. */
function distance(a: Tensor, b: Tensor): Tensor {
  if (dtypes[promote(a.dtype, b.dtype)].floating) return abs(sub(a, b));
  const rounded = abs(sub(cast(a, 'float32'), cast(b, 'float32')));
  const exact = abs(sub(cast(a, 'int32'), cast(b, 'int32')));
  return where(lt(rounded, 2 ** 30), exact, rounded);
}

/** Whether |a − b| ≤ atol + rtol · |b|; an infinity is close only to itself. */
export function isclose(a: Tensor, b: Tensor, options: ClosenessOptions = {}): Tensor {
  return naming('isclose', () => {
    expectTensors('isclose', a, b);
    expectOptions('isclose', options, { rtol: anyOperand, atol: anyOperand, equalNan: flag });
    const { rtol = 1e-5, atol = 1e-8, equalNan = false } = options;
    if (anyHalf(a, b)) return roundedOnce([a, b], (x, y) => isclose(x, y, options), 'bool');
    if (a.dtype === 'bool' && b.dtype === 'bool') return eq(a, b);
    return noGrad(() =>
      tidy(() => {
        const gap = distance(a, b);
        const bound = add(mul(abs(b), rtol), atol);
        const finite = logicalNot(eq(gap, Infinity));
        const close = logicalOr(eq(a, b), logicalAnd(finite, le(gap, bound)));
        return equalNan ? logicalOr(close, logicalAnd(isnan(a), isnan(b))) : close;
      }),
    );
  });
}
