import {
  type DoubleDouble,
  negative,
  plus,
  polynomial,
  single,
  times,
  twoProduct,
  twoSum,
} from './double-double.ts';

/**
 * float64 trigonometric functions composed of +, −, ·, / and √ (and BigInt for arguments ≥ 100,000), with the same
 * bits in every engine. Errors are below 1 unit in the last place for sin and cos, and below 2 for the others.
 */

const halfPi: DoubleDouble = { high: 1.5707963267948966, low: 6.123233995736766e-17 };
/** The part of π/2 beyond the two numbers. */
const halfPiRest = -1.4973849048591833e-33;

/** x minus a multiple of π/2, and that multiple modulo 4. */
interface Reduced {
  readonly r: DoubleDouble;
  readonly quarter: number;
}

function reduce(x: number): Reduced {
  if (Math.abs(x) <= Math.PI / 4) return { r: single(x), quarter: 0 };
  if (Math.abs(x) >= 100_000) return reduceLarge(x);
  const n = Math.round(x / halfPi.high);
  const main = twoProduct(n, halfPi.high);
  const first = plus(twoSum(x, -main.high), single(-main.low));
  const second = plus(first, negative(twoProduct(n, halfPi.low)));
  return { r: plus(second, single(-n * halfPiRest)), quarter: n & 3 };
}

/** Bits of 2/π needed for the largest float64, in addition to the result's. */
const bits = 1280n;

let twoOverPi: bigint | null = null;

/** arctan 1/n in units of 2^−(bits + 64). */
function inverseArctan(n: bigint): bigint {
  let term = (1n << (bits + 64n)) / n;
  let sum = term;
  for (let k = 3n; term !== 0n; k += 2n) {
    term = -term / (n * n);
    sum += term / k;
  }
  return sum;
}

/** 2/π in units of 2^−bits, by Machin's formula. */
function digits(): bigint {
  twoOverPi ??= (() => {
    const pi = 4n * (4n * inverseArctan(5n) - inverseArctan(239n));
    return (2n << (2n * bits + 64n)) / pi;
  })();
  return twoOverPi;
}

/** Decomposes a float64 exactly: mantissa · 2^exponent. */
function wholeParts(x: number): { readonly mantissa: bigint; readonly exponent: bigint } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const all = view.getBigUint64(0);
  return {
    mantissa: (all & ((1n << 52n) - 1n)) | (1n << 52n),
    exponent: ((all >> 52n) & 0x7ffn) - 1075n,
  };
}

function reduceLarge(x: number): Reduced {
  const { mantissa, exponent } = wholeParts(Math.abs(x));
  // Multiples of π/2, in units of 2^−128.
  const turns = (mantissa * digits() * (1n << (exponent + 128n))) >> bits;
  const nearest = (turns + (1n << 127n)) >> 128n;
  const rest = turns - (nearest << 128n);
  const upper = rest >> 64n;
  const part: DoubleDouble = plus(
    single(Number(upper) / 2 ** 64),
    single(Number(rest - (upper << 64n)) / 2 ** 128),
  );
  const r = times(part, halfPi);
  const quarter = Number(nearest & 3n);
  return x < 0 ? { r: negative(r), quarter: -quarter & 3 } : { r, quarter };
}

/** ±1/n! for n, n + 2, …, with alternating signs. */
function series(first: number, sign: number): readonly number[] {
  return Array.from({ length: 9 }, (_, i) => {
    let factorial = 1;
    for (let n = 2; n <= first + 2 * i; n++) factorial *= n;
    return (sign * (i % 2 === 0 ? 1 : -1)) / factorial;
  });
}

const sineSeries = series(3, -1);
const cosineSeries = series(4, 1);

function sineOf({ high, low }: DoubleDouble): number {
  const square = high * high;
  return high + (high * square * polynomial(square, sineSeries) + low * (1 - square / 2));
}

function cosineOf({ high, low }: DoubleDouble): number {
  const square = high * high;
  const half = twoProduct(high, high / 2);
  const main = twoSum(1, -half.high);
  const rest = square * square * polynomial(square, cosineSeries);
  return main.high + (main.low - half.low + (rest - high * low));
}

/** Returns sin(x + more · π/2). */
function turned(x: number, more: number): number {
  if (!Number.isFinite(x)) return Number.NaN;
  const { r, quarter } = reduce(x);
  const turns = (quarter + more) & 3;
  const magnitude = turns & 1 ? cosineOf(r) : sineOf(r);
  return turns & 2 ? -magnitude : magnitude;
}

export const sin = (x: number): number => (x === 0 ? x : turned(x, 0));

export const cos = (x: number): number => turned(x, 1);

export function tan(x: number): number {
  return x === 0 ? x : turned(x, 0) / turned(x, 1);
}

/** arctan k/8 in double-double precision. */
const arctans: readonly DoubleDouble[] = [
  { high: 0, low: 0 },
  { high: 0.12435499454676144, low: -3.1253241424539383e-18 },
  { high: 0.24497866312686414, low: 1.0698755618734451e-17 },
  { high: 0.35877067027057225, low: -2.4623815582638635e-17 },
  { high: 0.4636476090008061, low: 2.2698777452961687e-17 },
  { high: 0.5585993153435624, low: -5.4556305485916264e-18 },
  { high: 0.6435011087932844, low: 1.5834785051444286e-17 },
  { high: 0.7188299996216245, low: -2.1478388444456983e-17 },
  { high: 0.7853981633974483, low: 3.061616997868383e-17 },
];

/** −1/3, 1/5, −1/7, … */
const arctanSeries = Array.from({ length: 8 }, (_, i) => (i % 2 ? 1 : -1) / (2 * i + 3));

/** arctan(a/b) for a ≥ 0 and b > 0, not both infinite. */
function arctanOf(a: number, b: number): DoubleDouble {
  if (a > b) {
    const { high, low } = arctanOf(b, a);
    return plus(halfPi, { high: -high, low: -low });
  }
  const x = a / b;
  const k = Math.round(8 * x);
  const c = k / 8;
  const t = (x - c) / (1 + x * c);
  const square = t * t;
  const { high, low } = arctans[k]!;
  return plus(twoSum(high, t), single(t * square * polynomial(square, arctanSeries) + low));
}

const sumOf = ({ high, low }: DoubleDouble): number => high + low;

export function atan(x: number): number {
  if (Number.isNaN(x) || x === 0) return x;
  const magnitude = sumOf(arctanOf(Math.abs(x), 1));
  return x < 0 ? -magnitude : magnitude;
}

export function atan2(y: number, x: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.NaN;
  const isBack = x < 0 || Object.is(x, -0);
  const signed = (angle: number): number => (y < 0 || Object.is(y, -0) ? -angle : angle);
  if (y === 0) return signed(isBack ? 2 * halfPi.high : 0);
  const [a, b] = [Math.abs(y), Math.abs(x)];
  const isDiagonal = a === Number.POSITIVE_INFINITY && b === Number.POSITIVE_INFINITY;
  const angle = isDiagonal ? arctanOf(1, 1) : arctanOf(a, b);
  if (!isBack) return signed(sumOf(angle));
  const turn = { high: 2 * halfPi.high, low: 2 * halfPi.low };
  return signed(sumOf(plus(turn, negative(angle))));
}

export function asin(x: number): number {
  if (Number.isNaN(x) || x === 0) return x;
  return atan2(x, Math.sqrt((1 - x) * (1 + x)));
}

export function acos(x: number): number {
  return atan2(Math.sqrt((1 - x) * (1 + x)), x);
}
