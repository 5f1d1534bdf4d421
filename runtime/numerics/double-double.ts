/**
 * Numbers as unevaluated sums of two float64, with about 104 bits, after Dekker, "A floating-point technique for
 * extending the available precision" (1971), and Knuth's TwoSum. They use only +, −, · and /, which IEEE 754
 * rounds the same way in every engine.
 */
export interface DoubleDouble {
  readonly high: number;
  readonly low: number;
}

/** Returns a + b and its rounding error, for |a| ≥ |b| or a = 0. */
function quickSum(a: number, b: number): DoubleDouble {
  const high = a + b;
  return { high, low: b - (high - a) };
}

/** Returns a + b and its rounding error. */
export function twoSum(a: number, b: number): DoubleDouble {
  const high = a + b;
  const shown = high - a;
  return { high, low: a - (high - shown) + (b - shown) };
}

/** Returns the upper 26 bits of a number below 2^970: products of two such halves are exact. */
function upperHalf(x: number): number {
  const scaled = 134217729 * x;
  return scaled - (scaled - x);
}

/** Returns a · b and its rounding error, for factors below 2^970. */
export function twoProduct(a: number, b: number): DoubleDouble {
  const high = a * b;
  const [aHigh, bHigh] = [upperHalf(a), upperHalf(b)];
  const [aLow, bLow] = [a - aHigh, b - bHigh];
  return { high, low: aHigh * bHigh - high + aHigh * bLow + aLow * bHigh + aLow * bLow };
}

export const single = (x: number): DoubleDouble => ({ high: x, low: 0 });

export const negative = ({ high, low }: DoubleDouble): DoubleDouble => ({ high: -high, low: -low });

export function plus(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const sum = twoSum(a.high, b.high);
  return quickSum(sum.high, sum.low + (a.low + b.low));
}

export function times(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const product = twoProduct(a.high, b.high);
  return quickSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

export function over(a: DoubleDouble, b: DoubleDouble): DoubleDouble {
  const quotient = a.high / b.high;
  const rest = plus(a, negative(times(single(quotient), b)));
  return quickSum(quotient, rest.high / b.high);
}

/** Evaluates a polynomial by Horner's rule; coefficients start with the constant. */
export function polynomial(x: number, coefficients: readonly number[]): number {
  let sum = 0;
  for (let i = coefficients.length - 1; i >= 0; i--) sum = sum * x + coefficients[i]!;
  return sum;
}
