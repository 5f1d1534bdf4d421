import type { BinaryFn, DoubleFn, UnaryFn } from '../../ops/expr.ts';

/** The error function and its complement in float64; relative errors stay below 1e-14. */

/** From here on the complement's continued fraction converges fast. */
const seriesEnd = 2.5;

/** 2/√π · e^(−x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·…·(2n + 1)): all terms have one sign, so no digit is lost. */
function erfSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** e^(−x²)/√π · 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + …)))), from its innermost term outwards. */
function erfcFraction(x: number): number {
  let tail = 0;
  for (let n = 100; n > 0; n--) tail = n / 2 / (x + tail);
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + tail);
}

function erf(x: number): number {
  const magnitude = Math.abs(x);
  if (magnitude < seriesEnd) return x === 0 ? x : erfSeries(x);
  return Number.isNaN(x) ? x : Math.sign(x) * (1 - erfcFraction(magnitude));
}

function erfc(x: number): number {
  if (x < 0.5) return 1 - erf(x);
  if (x >= seriesEnd) return x === Infinity ? 0 : erfcFraction(x);
  return Number.isNaN(x) ? x : 1 - erfSeries(x);
}

/** 1 to any power is 1, and so is −1 to an infinite one, as in C. */
export function power(x: number, y: number): number {
  return x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y;
}

export type DoubleFunction =
  | DoubleFn
  | Extract<UnaryFn, 'exp' | 'exp2' | 'log' | 'log2' | 'tanh' | 'sin' | 'cos'>
  | Extract<BinaryFn, 'pow' | 'rem'>;

/** Of one number or two, as its `length` says. */
type NumberFunction = (x: number, y: number) => number;

/** What JavaScript computes for float64, where WebAssembly has no instruction. */
export const doubleFunctions: { readonly [F in DoubleFunction]: NumberFunction } = {
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  log: Math.log,
  log2: Math.log2,
  tanh: Math.tanh,
  sin: Math.sin,
  cos: Math.cos,
  pow: power,
  rem: (x, y) => x % y,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  atan2: Math.atan2,
  sinh: Math.sinh,
  cosh: Math.cosh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  expm1: Math.expm1,
  log1p: Math.log1p,
  log10: Math.log10,
  erf,
  erfc,
};
