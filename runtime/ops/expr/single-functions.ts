import { abs, add, c, div, E, type Expr, gt, lt, mul, neg, select, sub } from './expr.ts';

/**
 * Functions in float32, composed of the primitives of `expr.ts`. The polynomials are from Cephes (S. Moshier, single
 * precision). Relative errors are below 1e-6, those of erfc below 5e-6 beyond 4. Special values are as in C: NaN
 * outside the domain, ±0 for odd functions.
 */

/** Horner's scheme, highest coefficient first. */
function polynomial(x: Expr, [first, ...rest]: readonly number[]): Expr {
  return rest.reduce((sum, coefficient) => add(mul(sum, x), c(coefficient)), c(first!));
}

/** x + x³ · p(x²), for odd functions near 0. */
function oddSeries(x: Expr, coefficients: readonly number[]): Expr {
  const square = mul(x, x);
  return add(mul(mul(polynomial(square, coefficients), square), x), x);
}

/** Extends a function of |x| to an odd function; keeps −0. */
function odd(x: Expr, ofMagnitude: (a: Expr) => Expr): Expr {
  const y = ofMagnitude(abs(x));
  return select(lt(x, c(0)), neg(y), select(E.eq(x, c(0)), x, y));
}

/** The tangent in float32. */
export function tan(x: Expr): Expr {
  return div(E.sin(x), E.cos(x));
}

const asinSeries = [
  4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1,
];

/** asin of |x| ≤ ½ directly; of larger x from √((1 − x)/2), which lies in that range. */
export function asin(x: Expr): Expr {
  return odd(x, (a) => {
    const far = sub(c(Math.PI / 2), mul(c(2), asinOfHalf(halfDistance(a))));
    return select(gt(a, c(0.5)), far, asinOfHalf(a));
  });
}

const halfDistance = (a: Expr): Expr => E.sqrt(mul(c(0.5), sub(c(1), a)));
const asinOfHalf = (a: Expr): Expr => oddSeries(a, asinSeries);

/** The arc cosine in float32. */
export function acos(x: Expr): Expr {
  const far = mul(c(2), asinOfHalf(halfDistance(abs(x))));
  const outer = select(lt(x, c(0)), sub(c(Math.PI), far), far);
  return select(gt(abs(x), c(0.5)), outer, sub(c(Math.PI / 2), asinOfHalf(x)));
}

const atanSeries = [8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1];

/** The arc tangent of a non-negative number. */
function atanOfMagnitude(a: Expr): Expr {
  const [high, middle] = [gt(a, c(Math.SQRT2 + 1)), gt(a, c(Math.SQRT2 - 1))];
  const reduced = select(middle, div(sub(a, c(1)), add(a, c(1))), a);
  const r = select(high, div(c(-1), a), reduced);
  const turn = select(high, c(Math.PI / 2), select(middle, c(Math.PI / 4), c(0)));
  return add(turn, oddSeries(r, atanSeries));
}

/** The arc tangent in float32. */
export const atan = (x: Expr): Expr => odd(x, atanOfMagnitude);

/** The angle of the point (x, y). The sign of a zero is detected by the sign of 1/x. */
export function atan2(y: Expr, x: Expr): Expr {
  const [ax, ay] = [abs(x), abs(y)];
  const bothInfinite = E.mul(E.eq(ax, c(Infinity)), E.eq(ay, c(Infinity)));
  const bothZero = E.mul(E.eq(ax, c(0)), E.eq(ay, c(0)));
  const ratio = select(bothInfinite, c(1), select(bothZero, c(0), div(ay, ax)));
  const angle = atanOfMagnitude(ratio);
  const leftward = select(E.eq(x, c(0)), lt(div(c(1), x), c(0)), lt(x, c(0)));
  const upper = select(leftward, sub(c(Math.PI), angle), angle);
  const downward = select(E.eq(y, c(0)), lt(div(c(1), y), c(0)), lt(y, c(0)));
  return select(downward, neg(upper), upper);
}

/** eˣ / 2, which is finite for some x where eˣ overflows. */
function halfExp(a: Expr): Expr {
  const root = E.exp(mul(a, c(0.5)));
  return select(gt(a, c(80)), mul(mul(c(0.5), root), root), mul(c(0.5), E.exp(a)));
}

/** The hyperbolic sine in float32. */
export function sinh(x: Expr): Expr {
  const series = oddSeries(x, [2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1]);
  const far = odd(x, (a) => {
    const half = halfExp(a);
    return sub(half, div(c(0.25), half));
  });
  return select(gt(abs(x), c(1)), far, series);
}

/** The hyperbolic cosine in float32. */
export function cosh(x: Expr): Expr {
  const half = halfExp(abs(x));
  return add(half, div(c(0.25), half));
}

/** The inverse hyperbolic sine in float32. */
export function asinh(x: Expr): Expr {
  const series = oddSeries(
    x,
    [2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1],
  );
  const far = odd(x, (a) => {
    const near = E.log(add(a, E.sqrt(add(mul(a, a), c(1)))));
    return select(gt(a, c(1500)), add(E.log(a), c(Math.LN2)), near);
  });
  return select(gt(abs(x), c(0.5)), far, select(E.eq(x, c(0)), x, series));
}

/** The inverse hyperbolic cosine in float32. */
export function acosh(x: Expr): Expr {
  const z = sub(x, c(1));
  const series = polynomial(z, [
    1.7596881071e-3,
    -7.5272886713e-3,
    2.6454905019e-2,
    -1.1784741703e-1,
    Math.SQRT2,
  ]);
  const near = mul(series, E.sqrt(z));
  const middle = E.log(add(x, E.sqrt(mul(z, add(x, c(1))))));
  const far = select(gt(x, c(1500)), add(E.log(x), c(Math.LN2)), middle);
  return select(lt(z, c(0.5)), near, far);
}

/** The inverse hyperbolic tangent in float32. */
export function atanh(x: Expr): Expr {
  const series = oddSeries(
    x,
    [1.81740078349e-1, 8.24370301058e-2, 1.4669143173e-1, 1.997821645e-1, 3.33337300303e-1],
  );
  const far = odd(x, (a) => mul(c(0.5), E.log(div(add(c(1), a), sub(c(1), a)))));
  return select(gt(abs(x), c(0.5)), far, series);
}

/** eˣ − 1, precise near 0, in float32. */
export function expm1(x: Expr): Expr {
  const coefficients = [9, 8, 7, 6, 5, 4, 3, 2].map((k) => 1 / factorial(k));
  const series = add(mul(polynomial(x, coefficients), mul(x, x)), x);
  const near = select(E.eq(x, c(0)), x, series);
  return select(lt(abs(x), c(0.5)), near, sub(E.exp(x), c(1)));
}

const factorial = (k: number): number => (k <= 1 ? 1 : k * factorial(k - 1));

/** ln(1 + x), precise near 0, in float32. */
export function log1p(x: Expr): Expr {
  const coefficients = [
    7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
  ];
  const square = mul(x, x);
  const cubic = mul(polynomial(x, coefficients), mul(x, square));
  const series = add(sub(cubic, mul(c(0.5), square)), x);
  const near = select(gt(x, c(-0.29)), lt(x, c(0.41)), c(0));
  return select(near, series, E.log(add(c(1), x)));
}

/** The logarithm to base 10 in float32. */
export const log10 = (x: Expr): Expr => mul(E.log(x), c(Math.LOG10E));

/** x · p(x²), for |x| ≤ 1. */
function erfSeries(x: Expr): Expr {
  const coefficients = [
    7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
    1.128358514861418e-1, -3.7612625824233e-1, 1.12837916672571,
  ];
  return mul(x, polynomial(mul(x, x), coefficients));
}

/**
 * The probability of a normal number above a ≥ 0, given `bell` = e^(−a²/2): `bell` times a polynomial in
 * 1/(1 + 0.35 a), fitted to a relative error below 4e-8.
 */
export function normalTail(a: Expr, bell: Expr): Expr {
  const t = div(c(1), add(c(1), mul(c(0.35), a)));
  const ratio = polynomial(
    t,
    [
      -2.91560107e-2, 1.44021645e-1, -2.55819496e-1, 1.5929697e-1, -2.31963697e-2, 1.05545575e-1,
      1.19823087e-1, 1.3986326e-1, 1.39621322e-1,
    ],
  );
  return mul(mul(bell, t), ratio);
}

/** erfc of a ≥ 0 */
const erfcTail = (a: Expr): Expr =>
  mul(c(2), normalTail(mul(c(Math.SQRT2), a), E.exp(neg(mul(a, a)))));

/** The error function in float32. */
export function erf(x: Expr): Expr {
  const far = odd(x, (a) => sub(c(1), erfcTail(a)));
  return select(gt(abs(x), c(1)), far, erfSeries(x));
}

/** The complement of the error function in float32. */
export function erfc(x: Expr): Expr {
  const tail = erfcTail(abs(x));
  const far = select(lt(x, c(0)), sub(c(2), tail), tail);
  return select(gt(abs(x), c(1)), far, sub(c(1), erfSeries(x)));
}
