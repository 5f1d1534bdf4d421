import {
  type DoubleDouble,
  negative,
  over,
  plus,
  polynomial,
  single,
  times,
  twoProduct,
  twoSum,
} from './double-double.ts';

/**
 * float64 exponentials, logarithms, powers and hyperbolic functions composed of +, −, ·, / and √, which IEEE 754
 * rounds identically everywhere: unlike `Math` functions, they have the same bits in every engine. Errors are
 * below 1 unit in the last place for exp, log and pow, and below 2 for the hyperbolic functions and their
 * inverses.
 */

const words = new Uint32Array(2);
const double = new Float64Array(words.buffer);

/** The index of the 32-bit word of a float64 that contains its exponent. */
const upper = (() => {
  double[0] = 1;
  return words[1] === 0 ? 0 : 1;
})();

/** 2^n for −1022 ≤ n ≤ 1023. */
function powerOfTwo(n: number): number {
  words[1 - upper] = 0;
  words[upper] = (n + 1023) << 20;
  return double[0]!;
}

/** x · 2^n for x near 1 and any n. */
function scaled(x: number, n: number): number {
  if (n > 1023) return x * powerOfTwo(1023) * powerOfTwo(Math.min(n - 1023, 1023));
  if (n < -1022) return x * powerOfTwo(-1022) * powerOfTwo(Math.max(n + 1022, -1022));
  return x * powerOfTwo(n);
}

const ln2: DoubleDouble = { high: Math.LN2, low: 2.3190468138462996e-17 };
const ln10: DoubleDouble = { high: Math.LN10, low: -2.1707562233822494e-16 };
const third = over(single(1), single(3));
const inverseLn2 = over(single(1), ln2);
const inverseLn10 = over(single(1), ln10);

/** 1/3!, 1/4!, … 1/16! */
const inverseFactorials = Array.from({ length: 14 }, (_, i) => {
  let factorial = 1;
  for (let n = 2; n <= i + 3; n++) factorial *= n;
  return 1 / factorial;
});

/** 1/5, 1/7, … 1/27 */
const oddInverses = Array.from({ length: 12 }, (_, i) => 1 / (2 * i + 5));

/** e^r − 1 for |r| ≤ 0.35: r + r²/2 in double-double precision plus the rest of the series. */
function smallExpm1(r: DoubleDouble): DoubleDouble {
  const { high, low } = r;
  const square = twoProduct(high, high);
  const half = { high: square.high / 2, low: square.low / 2 + high * low };
  const rest = square.high * high * polynomial(high, inverseFactorials);
  return plus(plus(r, half), single(rest));
}

/** e^x as (1 + m) · 2^n. */
function expParts(x: DoubleDouble): { readonly m: DoubleDouble; readonly n: number } {
  const n = Math.round(x.high * Math.LOG2E);
  return { m: smallExpm1(plus(x, negative(times(single(n), ln2)))), n };
}

function expOf(x: DoubleDouble): number {
  if (Number.isNaN(x.high)) return x.high;
  if (x.high > 710) return Number.POSITIVE_INFINITY;
  if (x.high < -746) return 0;
  const { m, n } = expParts(x);
  const { high, low } = plus(single(1), m);
  return scaled(high + low, n);
}

export const exp = (x: number): number => expOf(single(x));

export function exp2(x: number): number {
  if (x > 2000) return Number.POSITIVE_INFINITY;
  if (x < -2000) return 0;
  return expOf(times(single(x), ln2));
}

export function expm1(x: number): number {
  if (Number.isNaN(x) || Math.abs(x) < 2 ** -54 || x === Number.POSITIVE_INFINITY) return x;
  if (x > 50) return exp(x);
  if (x < -50) return -1;
  const { m, n } = expParts(single(x));
  if (n === 0) return m.high + m.low;
  const factor = powerOfTwo(n);
  const { high, low } = plus(single(1), m);
  const less = plus({ high: high * factor, low: low * factor }, single(-1));
  return less.high + less.low;
}

/** Decomposes a positive finite number into m · 2^e with √½ ≤ m < √2. */
function parts(x: number): { readonly m: number; readonly e: number } {
  const isSubnormal = x < 2 ** -1022;
  double[0] = isSubnormal ? x * 2 ** 54 : x;
  const bits = words[upper]!;
  words[upper] = (bits & 0x000fffff) | 0x3ff00000;
  const m = double[0]!;
  const e = (bits >>> 20) - 1023 - (isSubnormal ? 54 : 0);
  return m > Math.SQRT2 ? { m: m / 2, e: e + 1 } : { m, e };
}

/** ln m for √½ ≤ m < √2: 2 · artanh((m − 1)/(m + 1)). */
function logOfMantissa(m: number): DoubleDouble {
  const s = over(single(m - 1), twoSum(m, 1));
  const square = times(s, s);
  const cubic = times(times(s, square), third);
  const rest = s.high * square.high * square.high * polynomial(square.high, oddInverses);
  const { high, low } = plus(plus(s, cubic), single(rest));
  return { high: 2 * high, low: 2 * low };
}

/** ln x for 0 < x < ∞. */
function logOf(x: number): DoubleDouble {
  const { m, e } = parts(x);
  const ofMantissa = logOfMantissa(m);
  return e === 0 ? ofMantissa : plus(times(single(e), ln2), ofMantissa);
}

/** Returns the logarithm of special arguments, for which it is NaN or infinite; null for others. */
function specialLog(x: number): number | null {
  if (x === 0) return Number.NEGATIVE_INFINITY;
  if (Number.isNaN(x) || x < 0) return Number.NaN;
  return x === Number.POSITIVE_INFINITY ? x : null;
}

const sumOf = ({ high, low }: DoubleDouble): number => high + low;

export function log(x: number): number {
  return specialLog(x) ?? sumOf(logOf(x));
}

export function log2(x: number): number {
  const special = specialLog(x);
  if (special !== null) return special;
  const { m, e } = parts(x);
  return sumOf(plus(single(e), times(logOfMantissa(m), inverseLn2)));
}

export function log10(x: number): number {
  return specialLog(x) ?? sumOf(times(logOf(x), inverseLn10));
}

export function log1p(x: number): number {
  if (Math.abs(x) < 2 ** -54) return x;
  const { high, low } = twoSum(1, x);
  const special = specialLog(high);
  if (special !== null) return special;
  return sumOf(plus(logOf(high), single(low / high)));
}

const isOdd = (y: number): boolean => Math.abs(y) < 2 ** 53 && Math.abs(y % 2) === 1;

/** Like `**`, except that 1 to any power, and −1 to an infinite power, are 1, as in C. */
export function pow(x: number, y: number): number {
  if (x === 1 || y === 0) return 1;
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.NaN;
  const size = Math.abs(x);
  if (Math.abs(y) === Number.POSITIVE_INFINITY) {
    if (size === 1) return 1;
    return size > 1 === y > 0 ? Number.POSITIVE_INFINITY : 0;
  }
  const sign = isOdd(y) && (x < 0 || Object.is(x, -0)) ? -1 : 1;
  if (size === 0 || size === Number.POSITIVE_INFINITY) {
    return sign * ((size === 0) === y > 0 ? 0 : Number.POSITIVE_INFINITY);
  }
  if (x < 0 && !Number.isInteger(y)) return Number.NaN;
  if (size === 1) return sign;
  // With a larger exponent, the power of every x except 1 is 0 or ∞.
  const bounded = Math.max(-(2 ** 80), Math.min(2 ** 80, y));
  return sign * expOf(times(logOf(size), single(bounded)));
}

/** Below this, x + x³ rounds to x. */
const tiny = 2 ** -28;

export function tanh(x: number): number {
  const size = Math.abs(x);
  if (Number.isNaN(x) || size < tiny) return x;
  if (size > 22) return Math.sign(x);
  const t = expm1(2 * size);
  const magnitude = size < 0.5 ? t / (t + 2) : 1 - 2 / (t + 2);
  return x < 0 ? -magnitude : magnitude;
}

export function sinh(x: number): number {
  const size = Math.abs(x);
  if (Number.isNaN(x) || size < tiny) return x;
  const half = x < 0 ? -0.5 : 0.5;
  if (size < 22) {
    const t = expm1(size);
    return half * (t + t / (t + 1));
  }
  const root = exp(size / 2);
  return half * root * root;
}

export function cosh(x: number): number {
  const size = Math.abs(x);
  if (size < 22) {
    const e = exp(size);
    return e / 2 + 0.5 / e;
  }
  const root = exp(size / 2);
  return 0.5 * root * root;
}

export function asinh(x: number): number {
  const size = Math.abs(x);
  if (!Number.isFinite(x) || size < tiny) return x;
  const square = size * size;
  const own =
    size > 2 ** 28 ? log(size) + ln2.high : log1p(size + square / (1 + Math.sqrt(1 + square)));
  return x < 0 ? -own : own;
}

export function acosh(x: number): number {
  if (!(x >= 1)) return Number.NaN;
  if (x > 2 ** 28) return log(x) + ln2.high;
  const t = x - 1;
  return log1p(t + Math.sqrt(2 * t + t * t));
}

export function atanh(x: number): number {
  const size = Math.abs(x);
  if (Number.isNaN(x) || size < tiny) return x;
  const magnitude = log1p((2 * size) / (1 - size)) / 2;
  return x < 0 ? -magnitude : magnitude;
}
