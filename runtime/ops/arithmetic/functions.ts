/** Exponentials, logarithms, trigonometric and hyperbolic functions, erf. Integers become float32. */

import type { Tensor } from '../../tensor/tensor.ts';
import { bindFloat, inferFloat, pointwise } from '../core/promotion.ts';
import { E, type Expr } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { add, mul, neg, sub } from './arithmetic.ts';
import { div } from './division.ts';

const x = E.input(0);
const _y = E.input(1);

type Derivative = (at: Tensor, dy: Tensor) => Tensor;

/** Defines a function whose gradient reads its operand (`of: 'x'`) or its result (`of: 'out'`). */
function float(name: string, expr: Expr, of: 'x' | 'out', derivative: Derivative) {
  const op = defineOp({
    name,
    operands: { x: 'data' },
    infer: inferFloat(name),
    kernel: pointwise(expr),
    vjp: {
      x:
        of === 'x'
          ? saving({ x: 'value' }, ({ x }, dy) => derivative(x, dy))
          : saving({ out: 'value' }, ({ out }, dy) => derivative(out, dy)),
    },
  });
  return (a: Tensor): Tensor => bindFloat(op, a);
}

/** eˣ */
export const exp = float('exp', E.exp(x), 'out', (out, dy) => mul(dy, out));
/** 2ˣ */
export const exp2 = float('exp2', E.exp2(x), 'out', (out, dy) => mul(mul(dy, out), Math.LN2));
/** eˣ − 1, accurate for small x. */
export const expm1 = float('expm1', F.expm1(x), 'out', (out, dy) => mul(dy, add(out, 1)));
/** The natural logarithm: −∞ at 0, NaN below. */
export const log = float('log', E.log(x), 'x', (x, dy) => div(dy, x));
/** The logarithm to base 2: −∞ at 0, NaN below. */
export const log2 = float('log2', E.log2(x), 'x', (x, dy) => div(dy, mul(x, Math.LN2)));
/** The logarithm to base 10: −∞ at 0, NaN below. */
export const log10 = float('log10', F.log10(x), 'x', (x, dy) => div(dy, mul(x, Math.LN10)));
/** ln(1 + x), accurate for small x. */
export const log1p = float('log1p', F.log1p(x), 'x', (x, dy) => div(dy, add(x, 1)));

/** The sine of an angle in radians. */
export const sin = float('sin', E.sin(x), 'x', (x, dy): Tensor => mul(dy, cos(x)));
/** The cosine of an angle in radians. */
export const cos = float('cos', E.cos(x), 'x', (x, dy): Tensor => neg(mul(dy, sin(x))));
/** The tangent of an angle in radians. */
export const tan = float('tan', F.tan(x), 'out', (out, dy) => mul(dy, onePlusSquare(out)));
/** The arcsine in radians; NaN outside of [−1, 1]. */
export const asin = float('asin', F.asin(x), 'x', (x, dy) => mul(dy, oneMinusSquareRoot(x)));
/** The arccosine in radians; NaN outside of [−1, 1]. */
export const acos = float('acos', F.acos(x), 'x', (x, dy) => neg(mul(dy, oneMinusSquareRoot(x))));
/** The arctangent in radians. */
export const atan = float('atan', F.atan(x), 'x', (x, dy) => div(dy, onePlusSquare(x)));

/** The hyperbolic sine. */
export const sinh = float('sinh', F.sinh(x), 'x', (x, dy): Tensor => mul(dy, cosh(x)));
/** The hyperbolic cosine. */
export const cosh = float('cosh', F.cosh(x), 'x', (x, dy): Tensor => mul(dy, sinh(x)));
/** The inverse hyperbolic sine. */
export const asinh = float('asinh', F.asinh(x), 'x', (x, dy) => mul(dy, rsqrt(onePlusSquare(x))));
/** The inverse hyperbolic cosine; NaN below 1. */
export const acosh = float('acosh', F.acosh(x), 'x', (x, dy) =>
  mul(dy, rsqrt(mul(sub(x, 1), add(x, 1)))),
);
/** The inverse hyperbolic tangent: ±∞ at ±1, NaN beyond. */
export const atanh = float('atanh', F.atanh(x), 'x', (x, dy) => div(dy, oneMinusSquare(x)));

const twoOverRootPi = 2 / Math.sqrt(Math.PI);
const bell = (x: Tensor, dy: Tensor): Tensor => mul(dy, mul(exp(neg(mul(x, x))), twoOverRootPi));

/** The error function. */
export const erf = float('erf', F.erf(x), 'x', bell);
/** 1 − erf(x), accurate where it is small. */
export const erfc = float('erfc', F.erfc(x), 'x', (x, dy) => neg(bell(x, dy)));

function onePlusSquare(a: Tensor): Tensor {
  return add(mul(a, a), 1);
}

function oneMinusSquare(a: Tensor): Tensor {
  // Not 1 − a², which loses precision near 1.
  return mul(add(neg(a), 1), add(a, 1));
}

function oneMinusSquareRoot(a: Tensor): Tensor {
  return rsqrt(oneMinusSquare(a));
}

export const rsqrtOp = defineOp({
  name: 'rsqrt',
  operands: { x: 'data' },
  infer: inferFloat('rsqrt'),
  kernel: pointwise(E.div(E.const(1), E.sqrt(x))),
  vjp: {
    x: saving({ out: 'value' }, ({ out }, dy) => mul(mul(dy, -0.5), mul(out, mul(out, out)))),
  },
});

/** 1/√x */
export const rsqrt = (a: Tensor): Tensor => {
  expectTensors('rsqrt', a);
  return bindFloat(rsqrtOp, a);
};
