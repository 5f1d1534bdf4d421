/**
 * Scalar functions in WGSL. WebGPU leaves NaN, infinities and domain errors to the driver (log(0) is −88 on one,
 * max(NaN, 0) is 0 on another), so every case that PyTorch defines is handled explicitly, with the formulas of the
 * gpu.js kernels (codegen/math-code.ts).
 */
import type { BinaryFn, CompareFn, UnaryFn } from '../../../ops/expr/expr.ts';

/** Returns a float32 literal, or the uniform with a number that has none. */
export function numberText(value: number): string {
  const rounded = Math.fround(value);
  if (Number.isNaN(rounded)) return 'u.nan';
  if (rounded === Infinity) return 'u.inf';
  if (rounded === -Infinity) return '-u.inf';
  const text = Object.is(rounded, -0) ? '-0' : String(rounded);
  return `${/[.e]/.test(text) ? text : `${text}.0`}f`;
}

export const unaryText: { readonly [F in Exclude<UnaryFn, 'toInt'>]: (x: string) => string } = {
  neg: (x) => `(-${x})`,
  abs: (x) => `abs(${x})`,
  floor: (x) => `floor(${x})`,
  ceil: (x) => `(-floor(-${x}))`,
  trunc: (x) => `f_trunc(${x})`,
  round: (x) => `f_round(${x})`,
  exp: (x) => `f_exp(${x})`,
  exp2: (x) => `f_exp2(${x})`,
  log: (x) => `f_log(${x})`,
  log2: (x) => `(f_log(${x}) * ${numberText(Math.LOG2E)})`,
  sin: (x) => `f_sine(${x}, 0.0f)`,
  cos: (x) => `f_sine(${x}, 1.0f)`,
  sqrt: (x) => `f_sqrt(${x})`,
  tanh: (x) => `f_tanh(${x})`,
};

export const binaryText: { readonly [F in BinaryFn]: (x: string, y: string) => string } = {
  add: (x, y) => `(${x} + ${y})`,
  sub: (x, y) => `(${x} - ${y})`,
  mul: (x, y) => `(${x} * ${y})`,
  div: (x, y) => `f_div(${x}, ${y})`,
  max: (x, y) => `f_max(${x}, ${y})`,
  min: (x, y) => `f_min(${x}, ${y})`,
  pow: (x, y) => `f_pow(${x}, ${y})`,
  rem: (x, y) => `f_rem(${x}, ${y})`,
  quotient: (x, y) => `f_quotient(${x}, ${y})`,
};

const comparisons: { readonly [F in Exclude<CompareFn, 'ne'>]: string } = {
  eq: '==',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
};

/** Returns a WGSL bool. */
export function compareText(fn: CompareFn, x: string, y: string): string {
  // In SwiftShader, NaN is neither equal nor unequal to anything.
  if (fn === 'ne') return `select(true, false, ${x} == ${y})`;
  return `(${x} ${comparisons[fn]} ${y})`;
}

/** Integer exponents up to this magnitude are computed as products. */
const largestProduct = 16;

/** Whether a power with this exponent has its own kernel. */
export function isProduct(exponent: number): boolean {
  return Number.isInteger(exponent) && Math.abs(exponent) <= largestProduct;
}

/** Writes x to an integer power as products; `name` names an expression. */
export function powerText(x: string, exponent: number, name: (text: string) => string): string {
  if (exponent === 0) return '1.0f';
  const power = wholePower(x, Math.abs(exponent), name);
  return exponent < 0 ? `(1.0f / ${power})` : power;
}

function wholePower(x: string, exponent: number, name: (text: string) => string): string {
  if (exponent === 1) return x;
  const half = wholePower(x, exponent >> 1, name);
  const square = name(`${half} * ${half}`);
  return exponent & 1 ? name(`${square} * ${x}`) : square;
}

/** Functions by name. Arguments and results are float32 unless declared otherwise. */
export const mathFunctions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // By bits: drivers fold `x == x` to true and assume comparisons to be of numbers.
    f_is_number: '(x : f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) <= 0x7f800000u; }',
    f_trunc: '(x : f32) -> f32 { return select(floor(x), -floor(-x), x < 0.0f); }',
    f_round: `(x : f32) -> f32 {
  let low = floor(x);
  let rest = x - low;
  let half = low * 0.5f;
  let even = select(low + 1.0f, low, floor(half) == half);
  let up = select(low, low + 1.0f, rest > 0.5f);
  return select(up, even, rest == 0.5f);
}`,
    // Beyond the bounds float32 gives 0 and Infinity, but drivers saturate at the largest finite number.
    f_exp: `(x : f32) -> f32 {
  let upper = select(exp(x), u.inf, x > 88.73f);
  let lower = select(upper, 0.0f, x < -104.0f);
  return select(x, lower, f_is_number(x));
}`,
    // Separately for the integer part and the rest: drivers multiply by ln 2, which rounds.
    f_exp2: `(x : f32) -> f32 {
  let upper = select(x, 128.0f, x > 128.0f);
  let clamped = select(upper, -150.0f, upper < -150.0f);
  let whole = floor(clamped);
  let rest = clamped - whole;
  let power = exp(rest * ${numberText(Math.LN2)}) * pow(2.0f, whole);
  let finite = select(power, u.inf, x >= 128.0f);
  let bounded = select(finite, 0.0f, x < -150.0f);
  return select(x, bounded, f_is_number(x));
}`,
    f_log: `(x : f32) -> f32 {
  let y = select(log(x), x, x >= u.inf);
  let atZero = select(u.nan, -u.inf, x == 0.0f);
  return select(atZero, y, x > 0.0f);
}`,
    // Order-preserving map from numbers to integers; zeros are equal, and NaN is the largest. By bits: drivers may
    // flush subnormal numbers to 0 and mistreat NaN.
    f_order_key: `(x : f32) -> u32 {
  let bits = bitcast<u32>(x);
  let size = bits & 0x7fffffffu;
  let other = select(bits | 0x80000000u, ~bits, bits > 0x80000000u);
  return select(select(other, 0x80000000u, size == 0u), 0xffffffffu, size > 0x7f800000u);
}`,
    f_sqrt: `(x : f32) -> f32 {
  let y = select(sqrt(x), x, x >= u.inf);
  let atZero = select(u.nan, x, x == 0.0f);
  return select(atZero, y, x > 0.0f);
}`,
    // Drivers overflow beyond about 44; in float32 the result is 1 from 9.01 on.
    f_tanh: `(x : f32) -> f32 {
  let upper = select(x, 15.0f, x > 15.0f);
  let clamped = select(upper, -15.0f, upper < -15.0f);
  return select(x, tanh(clamped), f_is_number(x));
}`,
    // The larger or smaller operand; NaN if either is NaN.
    f_max:
      '(x : f32, y : f32) -> f32 { return select(x + y, select(y, x, x >= y), f_are_numbers(x, y)); }',
    f_min:
      '(x : f32, y : f32) -> f32 { return select(x + y, select(y, x, x <= y), f_are_numbers(x, y)); }',
    f_are_numbers: '(x : f32, y : f32) -> bool { return f_is_number(x) && f_is_number(y); }',
    // Drivers multiply by the reciprocal, which is 0 for y beyond 2^126, so both are scaled down.
    f_div: `(x : f32, y : f32) -> f32 {
  let scale = select(1.0f, ${numberText(2 ** -32)}, abs(y) > ${numberText(2 ** 126)});
  return (x * scale) / (y * scale);
}`,
    f_pow: `(x : f32, y : f32) -> f32 {
  let size = abs(x);
  let power = pow(size, y);
  let half = y * 0.5f;
  let signed = select(-power, power, floor(half) == half);
  let root = select(u.nan, power, size >= u.inf);
  let negative = select(root, signed, floor(y) == y);
  let zero = select(0.0f, u.inf, y < 0.0f);
  let nonPositive = select(zero, negative, x < 0.0f);
  let result = select(nonPositive, power, x > 0.0f);
  let known = select(y, result, f_is_number(y));
  let checked = select(x, known, f_is_number(x));
  let unit = select(checked, 1.0f, x == 1.0f);
  return select(unit, 1.0f, y == 0.0f);
}`,
    // Integer quotient and remainder of magnitudes, corrected by one step, because a driver's division may be off
    // by one.
    f_division: `(x : f32, y : f32) -> vec2<f32> {
  var whole = floor(f_div(x, y));
  var rest = x - whole * y;
  if (rest < 0.0f) { whole = whole - 1.0f; rest = rest + y; }
  if (rest >= y) { whole = whole + 1.0f; rest = rest - y; }
  return vec2<f32>(whole, rest);
}`,
    f_rem: `(x : f32, y : f32) -> f32 {
  let rest = f_division(abs(x), abs(y)).y;
  let signed = select(rest, -rest, x < 0.0f);
  let byInfinity = select(u.nan, x, abs(x) < u.inf);
  let defined = select(signed, byInfinity, abs(y) >= u.inf);
  return select(defined, u.nan, y == 0.0f);
}`,
    f_quotient: `(x : f32, y : f32) -> f32 {
  let whole = f_division(abs(x), abs(y)).x;
  let signed = select(whole, -whole, x * y < 0.0f);
  return select(signed, 0.0f, y == 0.0f);
}`,
    // As on the CPU (wasm/sine.ts); WGSL only guarantees an absolute error of 2^-11.
    f_sine: `(x : f32, shift : f32) -> f32 {
  let turns = floor(x * ${numberText(2 / Math.PI)} + 0.5f);
  let first = x - turns * 1.5703125f;
  let second = first - turns * ${numberText(4.837512969970703e-4)};
  let r = second - turns * ${numberText(7.549533620476723e-8)};
  return select(u.nan, f_quarter_sine(r, turns + shift), abs(x) < u.inf);
}`,
    // The sine of r plus this many quarter turns; r up to π/4.
    f_quarter_sine: `(r : f32, quarters : f32) -> f32 {
  let z = r * r;
  let odd = ((${numberText(-0.00019515295891)} * z + ${numberText(0.0083321608736)}) * z - ${numberText(0.16666654611)});
  let sine = odd * z * r + r;
  let even = ((${numberText(0.00002443315711809948)} * z - ${numberText(0.001388731625493765)}) * z + ${numberText(0.04166664568298827)});
  let cosine = (even * z - 0.5f) * z + 1.0f;
  let quarter = quarters - 4.0f * floor(quarters * 0.25f);
  let swapped = select(sine, cosine, quarter == 1.0f);
  let value = select(swapped, cosine, quarter == 3.0f);
  return select(value, -value, quarter > 1.5f);
}`,
  }).map(([name, source]) => [name, `fn ${name}${source}`]),
);
