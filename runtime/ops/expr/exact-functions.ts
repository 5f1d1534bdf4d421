import { add, c, div, E, type Expr, gt, lt, select, sub } from './expr.ts';

/** Functions without rounding errors of their own. They are apart from the others, which few pages need at once. */

/** −1, 0 or 1; NaN for NaN. */
export function sign(x: Expr): Expr {
  return select(gt(x, c(0)), c(1), select(lt(x, c(0)), c(-1), x));
}

/** The remainder with the sign of the divisor, like Python's `%`. */
export function remainder(x: Expr, y: Expr): Expr {
  const rest = E.rem(x, y);
  return select(otherSign(rest, y), add(rest, y), rest);
}

function otherSign(rest: Expr, y: Expr): Expr {
  return select(E.ne(rest, c(0)), E.ne(lt(rest, c(0)), lt(y, c(0))), c(0));
}

/** The quotient rounded down. In float32 it is computed from the remainder, which is exact. */
export function floorDivide(x: Expr, y: Expr): Expr {
  const rest = E.rem(x, y);
  const quotient = div(sub(x, rest), y);
  const lower = select(otherSign(rest, y), sub(quotient, c(1)), quotient);
  // Corrects the rounding of the division by rounding to the nearest integer.
  const whole = E.floor(lower);
  const nearest = select(gt(sub(lower, whole), c(0.5)), add(whole, c(1)), whole);
  return select(E.eq(y, c(0)), div(x, y), nearest);
}

/** The int32 quotient rounded down. */
export function floorDivideInt(x: Expr, y: Expr): Expr {
  const quotient = E.quotient(x, y);
  return select(otherSign(E.rem(x, y), y), sub(quotient, c(1)), quotient);
}
