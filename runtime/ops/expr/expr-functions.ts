import {
  abs,
  add,
  c,
  type DoubleFn,
  div,
  E,
  type Expr,
  lt,
  mul,
  neg,
  select,
  sub,
} from './expr.ts';
import * as single from './single-functions.ts';

export * from './exact-functions.ts';

/**
 * Functions composed of the primitives of `expr.ts`, so that every device computes them in the same steps. In
 * float64 they are JavaScript's own (`DoubleFn`).
 *
 * Imported as a namespace, `F`: an object would bring all of them into every page.
 */

const inBoth =
  (fn: DoubleFn, ofSingle: (x: Expr) => Expr) =>
  (x: Expr): Expr =>
    E.precision(ofSingle(x), E.double(fn, x));

/** The tangent. */
export const tan = inBoth('tan', single.tan);
/** The arc sine. */
export const asin = inBoth('asin', single.asin);
/** The arc cosine. */
export const acos = inBoth('acos', single.acos);
/** The arc tangent. */
export const atan = inBoth('atan', single.atan);

/** The angle of the point (x, y). */
export const atan2 = (y: Expr, x: Expr): Expr =>
  E.precision(single.atan2(y, x), E.double('atan2', y, x));

/** The hyperbolic sine. */
export const sinh = inBoth('sinh', single.sinh);
/** The hyperbolic cosine. */
export const cosh = inBoth('cosh', single.cosh);
/** The inverse hyperbolic sine. */
export const asinh = inBoth('asinh', single.asinh);
/** The inverse hyperbolic cosine. */
export const acosh = inBoth('acosh', single.acosh);
/** The inverse hyperbolic tangent. */
export const atanh = inBoth('atanh', single.atanh);
/** eˣ − 1, precise near 0. */
export const expm1 = inBoth('expm1', single.expm1);
/** ln(1 + x), precise near 0. */
export const log1p = inBoth('log1p', single.log1p);
/** The logarithm to base 10. */
export const log10 = inBoth('log10', single.log10);
/** The error function. */
export const erf = inBoth('erf', single.erf);
/** The complement of the error function. */
export const erfc = inBoth('erfc', single.erfc);

/** The standard normal distribution function at x, given `bell` = e^(−x²/2). */
export function normalCdf(x: Expr, bell: Expr): Expr {
  const tail = single.normalTail(abs(x), bell);
  const double = add(c(1), E.double('erf', mul(x, c(Math.SQRT1_2))));
  return E.precision(select(lt(x, c(0)), tail, sub(c(1), tail)), mul(c(0.5), double));
}

/** 1 / (1 + e⁻ˣ). */
export const sigmoid = (x: Expr): Expr => div(c(1), add(c(1), E.exp(neg(x))));

/** ln(1 + eˣ), without overflow or underflow. */
export function softplus(x: Expr): Expr {
  return add(E.max(x, c(0)), log1p(E.exp(neg(abs(x)))));
}
