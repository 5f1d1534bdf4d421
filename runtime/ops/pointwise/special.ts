/** Special functions: inverse error function, gamma and related functions, sinc, logit. */

import * as gammasKernels from '../../device/cpu/scalar/polygamma.ts';
import { named } from '../../device/kernel-op.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { abs, add, mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { cos, exp, log, log1p, sin } from '../arithmetic/functions.ts';
import { logicalNot, logicalOr } from '../arithmetic/logic.ts';
import { bind1 } from '../core/bind.ts';
import { cast } from '../core/cast.ts';
import { bindFloat, floating, inferFloat, pointwise, rejectBool } from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { E, type Expr } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { equals, isBelow, isInteger, minus, plus } from '../numbers/number-arithmetic.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { clamp } from './combining.ts';
import { dropWhere, gt, lt, maskedFill, where } from './comparison.ts';

const x = E.input(0);
const c = (value: number): Expr => E.const(value);

function polynomial(z: Expr, [first, ...rest]: readonly number[]): Expr {
  return rest.reduce((sum, coefficient) => E.add(E.mul(sum, z), c(coefficient)), c(first!));
}

/**
 * M. Giles, "Approximating the erfinv function" (single precision), then two Newton steps: beyond ½ on erfc, whose
 * small values are precise.
 */
function inverseErf(y: Expr): Expr {
  const w = E.neg(E.log(E.mul(E.sub(c(1), y), E.add(c(1), y))));
  const near = polynomial(
    E.sub(w, c(2.5)),
    [
      2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 2.1858087e-4, -1.25372503e-3,
      -4.17768164e-3, 0.246640727, 1.50140941,
    ],
  );
  const far = polynomial(
    E.sub(E.sqrt(w), c(3)),
    [
      -2.00214257e-4, 1.00950558e-4, 1.34934322e-3, -3.67342844e-3, 5.73950773e-3, -7.6224613e-3,
      9.43887047e-3, 1.00167406, 2.83297682,
    ],
  );
  const size = E.abs(y);
  const single = E.mul(E.select(E.lt(w, c(5)), near, far), size);
  // The polynomials cover w up to 16, the largest in float32.
  const distant = logarithmicNewton(logarithmicNewton(single, size), size);
  const start = E.precision(single, E.select(E.gt(w, c(14)), distant, single));
  const refined = newton(newton(start, size), size);
  const signed = E.select(E.lt(y, c(0)), E.neg(refined), refined);
  const inside = E.select(E.eq(y, c(0)), y, signed);
  const edge = E.div(y, E.sub(c(1), size));
  // ±∞ at ±1, NaN outside [−1, 1].
  return E.select(E.lt(size, c(1)), inside, E.select(E.eq(size, c(1)), edge, E.div(c(0), c(0))));
}

function newton(guess: Expr, size: Expr): Expr {
  const beyond = E.sub(E.sub(c(1), size), F.erfc(guess));
  const error = E.select(E.gt(size, c(0.5)), beyond, E.sub(F.erf(guess), size));
  const slope = E.mul(c(2 / Math.sqrt(Math.PI)), E.exp(E.neg(E.mul(guess, guess))));
  return E.sub(guess, E.div(error, slope));
}

/** A Newton step on ln erfc, which is smooth enough to converge even where erfc almost vanishes. */
function logarithmicNewton(guess: Expr, size: Expr): Expr {
  const rest = F.erfc(guess);
  const error = E.log(E.div(rest, E.sub(c(1), size)));
  const slope = E.mul(c(2 / Math.sqrt(Math.PI)), E.exp(E.neg(E.mul(guess, guess))));
  return E.add(guess, E.div(E.mul(rest, error), slope));
}

export const erfinvOp = defineOp({
  name: 'erfinv',
  operands: { x: 'data' },
  infer: inferFloat('erfinv'),
  kernel: pointwise(inverseErf(x)),
  vjp: {
    x: saving({ out: 'value' }, ({ out }, dy) =>
      mul(dy, mul(exp(mul(out, out)), Math.sqrt(Math.PI) / 2)),
    ),
  },
});

/** The inverse error function: ±∞ at ±1, NaN outside [−1, 1]. */
export const erfinv = (a: Tensor): Tensor => {
  expectTensors('erfinv', a);
  return bindFloat(erfinvOp, a);
};

// Gamma: Stirling's series from 8 on; below, Γ(x + 1) = x Γ(x); below ½, reflection.

const shifts = [0, 1, 2, 3, 4, 5, 6, 7];
const stirling = [
  43867 / 244188,
  -3617 / 122400,
  1 / 156,
  -691 / 360360,
  ...[1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12],
];

/** x from ½ on, and 1 − x below. */
const reflected = E.select(E.lt(x, c(0.5)), E.sub(c(1), x), x);
const isShifted = E.lt(reflected, c(8));
/** `reflected`, or 8 more if the recurrence is used. */
const shifted = E.select(isShifted, E.add(reflected, c(8)), reflected);
const steps = shifts.map((k) => E.add(reflected, c(k)));

const lgammaOfReflected = E.sub(
  series(shifted),
  E.select(isShifted, E.log(steps.reduce(E.mul)), c(0)),
);

function series(z: Expr): Expr {
  const inverse = E.div(c(1), z);
  const tail = E.mul(inverse, polynomial(E.mul(inverse, inverse), stirling));
  const half = E.mul(E.sub(z, c(0.5)), E.log(z));
  const main = E.add(E.sub(half, z), c(0.5 * Math.log(2 * Math.PI)));
  return E.select(E.eq(z, c(Infinity)), z, E.add(main, tail));
}

/** sin and cos of π times (x minus the nearest integer). */
const rest = E.mul(c(Math.PI), E.sub(x, E.round(x)));

/** This includes −∞ and numbers too large to have a fraction. */
const isPole = E.select(E.eq(x, E.round(x)), E.le(x, c(0)), c(0));

// Divides the sine by π, because it may be too small to be a divisor.
const lgammaOfSine = E.neg(E.log(E.div(E.abs(E.sin(rest)), c(Math.PI))));
const lgammaExpr = E.select(
  E.lt(x, c(0.5)),
  E.select(isPole, c(Infinity), E.sub(lgammaOfSine, lgammaOfReflected)),
  lgammaOfReflected,
);

const digammaTail = [
  -43867 / 14364,
  3617 / 8160,
  -1 / 12,
  691 / 32760,
  ...[-1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12],
];

const inverses = steps.map((step) => E.div(c(1), step)).reduce(E.add);
const digammaOfReflected = E.sub(digammaSeries(shifted), E.select(isShifted, inverses, c(0)));

function digammaSeries(z: Expr): Expr {
  const inverse = E.div(c(1), z);
  const square = E.mul(inverse, inverse);
  const tail = E.mul(square, polynomial(square, digammaTail));
  return E.add(E.sub(E.log(z), E.mul(c(0.5), inverse)), tail);
}

const nan = E.div(c(0), c(0));

const digammaExpr = E.select(
  E.lt(x, c(0.5)),
  E.select(
    isPole,
    // The pole at 0 has a sign; those at −1, −2, … don't.
    E.select(E.eq(x, c(0)), E.neg(E.div(c(1), x)), nan),
    E.sub(digammaOfReflected, E.div(E.mul(c(Math.PI), E.cos(rest)), E.sin(rest))),
  ),
  digammaOfReflected,
);

/** Larger orders have an infinite factorial. */
const mostOrder = 170;

export const polygammaOp: OpRecord = defineOp({
  name: 'polygamma',
  operands: { x: 'data' },
  attrs: { order: 'size' },
  fits: (_inputs, { order }) => Number(order) <= mostOrder || `an order up to ${mostOrder}`,
  infer: inferFloat('polygamma'),
  kernel: named('polygamma', gammasKernels.polygamma),
  numbers: ['order'],
  vjp: {
    x: saving({ x: 'value' }, ({ x }, dy, { order }) =>
      mul(dy, bind1(polygammaOp, [x], { order: plus(order as number, 1) })),
    ),
  },
});

export const digammaOp: OpRecord = defineOp({
  name: 'digamma',
  operands: { x: 'data' },
  infer: inferFloat('digamma'),
  kernel: pointwise(digammaExpr),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(dy, bind1(polygammaOp, [x], { order: 1 }))) },
});

export const lgammaOp = defineOp({
  name: 'lgamma',
  operands: { x: 'data' },
  infer: inferFloat('lgamma'),
  kernel: pointwise(lgammaExpr),
  vjp: { x: saving({ x: 'value' }, ({ x }, dy) => mul(dy, bind1(digammaOp, [x]))) },
});

/** ln |Γ(x)| */
export const lgamma = (a: Tensor): Tensor => {
  expectTensors('lgamma', a);
  return bindFloat(lgammaOp, a);
};
/** The derivative of lgamma. */
export const digamma = (a: Tensor): Tensor => bindFloat(digammaOp, a);

/** The derivative of digamma of the given order, from 0 on. */
export function polygamma(order: number, a: Tensor): Tensor {
  expectNumber('polygamma', 'order', order);
  if (equals(order, 0)) return digamma(a);
  if (!isInteger(order) || isBelow(order, 0) || isBelow(mostOrder, order)) {
    throw new ArgumentError({
      what: 'polygamma: no such derivative',
      given: `order ${order}`,
      expected: `an integer from 0 to ${mostOrder}`,
      remedy: 'digamma is order 0',
    });
  }
  return bindFloat(polygammaOp, a, { order });
}

/** Coefficients of a², a⁴, … in (a cos a − sin a) / a³, after −1/3. */
const sincSlope = [
  1 / 30,
  -1 / 840,
  1 / 45360,
  -1 / 3991680,
  1 / 518918400,
  -1 / 93405312000,
  1 / 22230464256000,
];

/** sin(πx) / πx, and 1 at 0. */
export const sincOp = defineOp({
  name: 'sinc',
  operands: { x: 'data' },
  infer: inferFloat('sinc'),
  kernel: pointwise(
    E.select(E.eq(x, c(0)), c(1), E.div(E.sin(E.mul(x, c(Math.PI))), E.mul(x, c(Math.PI)))),
  ),
  vjp: {
    // (cos πx · πx − sin πx) / (πx · x); near 0, where the terms cancel, its series.
    x: saving({ x: 'value' }, ({ x }, dy) => {
      const near = lt(abs(x), 0.25);
      const safe = maskedFill(x, near, 1);
      const angle = mul(safe, Math.PI);
      const far = div(sub(mul(cos(angle), angle), sin(angle)), mul(angle, safe));
      const small = mul(dropWhere(x, logicalNot(near)), Math.PI);
      const square = mul(small, small);
      const tail = sincSlope.reduceRight<Tensor | null>(
        (sum, own) => (sum === null ? mul(square, own) : mul(add(sum, own), square)),
        null,
      );
      const close = mul(mul(small, add(tail!, -1 / 3)), Math.PI);
      return mul(dy, where(near, close, far));
    }),
  },
});

/** sin(πx) / πx, and 1 at 0. */
export const sinc = (a: Tensor): Tensor => {
  expectTensors('sinc', a);
  return bindFloat(sincOp, a);
};

/** ln(x / (1 − x)); with `eps`, x is clamped to [eps, 1 − eps]. */
export function logit(a: Tensor, eps: number | null = null): Tensor {
  expectTensors('logit', a);
  if (eps !== null) expectNumber('logit', 'eps', eps);
  if (anyHalf(a)) return roundedOnce([a], (converted) => logit(converted, eps));
  return tidy(() => {
    const real = cast(a, floating(a.dtype));
    const clamped = eps === null ? real : keptFromEnds(real, eps);
    const odds = sub(log(clamped), log1p(neg(clamped)));
    if (eps !== null) return odds;
    // Outside [0, 1], the gradient is NaN, like the value.
    return mul(odds, where(logicalOr(lt(real, 0), gt(real, 1)), NaN, 1));
  });
}

/** `clamp(x, eps, 1 − eps)`; if the bounds cross, the lower one wins, as in PyTorch's `logit`. */
const keptFromEnds = (x: Tensor, eps: number): Tensor =>
  isBelow(0.5, eps)
    ? where(lt(x, eps), eps, clamp(x, null, minus(1, eps)))
    : clamp(x, eps, minus(1, eps));

/** Degrees to radians. */
export const deg2rad = (a: Tensor): Tensor => mul(a, Math.PI / 180);
/** Radians to degrees. */
export const rad2deg = (a: Tensor): Tensor => mul(a, 180 / Math.PI);

/** +a: the tensor itself, as in PyTorch. Throws DTypeError for bool. */
export function positive(a: Tensor): Tensor {
  expectTensors('positive', a);
  rejectBool('positive', a);
  return a;
}
