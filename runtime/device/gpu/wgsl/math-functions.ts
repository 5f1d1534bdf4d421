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
    // A number of this size with the sign of another, zeros included: comparisons don't see the sign of -0.
    f_with_sign: `(size : f32, sign : f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(size) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}`,
    f_trunc: '(x : f32) -> f32 { return f_with_sign(floor(abs(x)), x); }',
    f_round: `(x : f32) -> f32 {
  let low = floor(x);
  let rest = x - low;
  let half = low * 0.5f;
  let even = select(low + 1.0f, low, floor(half) == half);
  let up = select(low, low + 1.0f, rest > 0.5f);
  return f_with_sign(select(up, even, rest == 0.5f), x);
}`,
    // Beyond the bounds float32 gives 0 and Infinity, but drivers saturate at the largest finite number.
    f_exp: `(x : f32) -> f32 {
  let upper = select(exp(x), u.inf, x > 88.73f);
  let lower = select(upper, 0.0f, x < -104.0f);
  return select(x, lower, f_is_number(x));
}`,
    // The integer and fractional parts separately: drivers multiply by ln 2, which rounds.
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
    // Drivers overflow beyond about 44; in float32 the result is 1 from 9.01 on. Near 0 they compute it from e^x, which
    // loses all digits of small numbers and the sign of -0: there it is a polynomial (Cephes).
    f_tanh: `(x : f32) -> f32 {
  let upper = select(x, 15.0f, x > 15.0f);
  let clamped = select(upper, -15.0f, upper < -15.0f);
  let z = x * x;
  let rest = (((${numberText(-5.70498872745e-3)} * z + ${numberText(2.06390887954e-2)}) * z - ${numberText(5.37397155531e-2)}) * z + ${numberText(1.33314422036e-1)}) * z - ${numberText(3.33332819422e-1)};
  let y = select(tanh(clamped), x * (1.0f + z * rest), abs(x) < 0.625f);
  return select(x, y, f_is_number(x));
}`,
    // The larger or smaller operand; NaN if either is NaN. Of equal operands only zeros differ: -0 is less than 0.
    f_max: `(x : f32, y : f32) -> f32 {
  let zero = bitcast<f32>(bitcast<u32>(x) & bitcast<u32>(y));
  return select(x + y, select(select(y, x, x > y), zero, x == y), f_are_numbers(x, y));
}`,
    f_min: `(x : f32, y : f32) -> f32 {
  let zero = bitcast<f32>(bitcast<u32>(x) | bitcast<u32>(y));
  return select(x + y, select(select(y, x, x < y), zero, x == y), f_are_numbers(x, y));
}`,
    f_are_numbers: '(x : f32, y : f32) -> bool { return f_is_number(x) && f_is_number(y); }',
    // Drivers multiply by the reciprocal, which is 0 for y beyond 2^126, so both are scaled down.
    f_div: `(x : f32, y : f32) -> f32 {
  let scale = select(1.0f, ${numberText(2 ** -32)}, abs(y) > ${numberText(2 ** 126)});
  return (x * scale) / (y * scale);
}`,
    // Drivers compute 2^(y log2 |x|), which is inexact for 1 and undefined for 0.
    f_pow: `(x : f32, y : f32) -> f32 {
  let size = abs(x);
  let atZero = select(0.0f, u.inf, y < 0.0f);
  let unsigned = select(select(pow(size, y), 1.0f, size == 1.0f), atZero, size == 0.0f);
  let half = y * 0.5f;
  let isWhole = floor(y) == y;
  let whole = select(f_with_sign(unsigned, x), unsigned, floor(half) == half);
  let root = select(unsigned, u.nan, x < 0.0f && size < u.inf);
  let result = select(root, whole, isWhole);
  let known = select(y, result, f_is_number(y));
  let checked = select(x, known, f_is_number(x));
  let unit = select(checked, 1.0f, x == 1.0f);
  return select(unit, 1.0f, y == 0.0f);
}`,
    // By long division of the digits, eight bits at a time: exact, as JavaScript's `%` is.
    f_rem: `(x : f32, y : f32) -> f32 {
  let dividend = bitcast<u32>(x) & 0x7fffffffu;
  let divisor = bitcast<u32>(y) & 0x7fffffffu;
  if (divisor == 0u || divisor > 0x7f800000u || dividend >= 0x7f800000u) { return u.nan; }
  if (dividend < divisor) { return x; }
  let power = max(divisor >> 23u, 1u);
  let digits = f_digits(divisor);
  var rest = f_digits(dividend) % digits;
  var left = (dividend >> 23u) - min(power, dividend >> 23u);
  while (left > 0u) {
    let bits = min(left, 8u);
    rest = (rest << bits) % digits;
    left = left - bits;
  }
  if (rest == 0u) { return f_with_sign(0.0f, x); }
  let shift = min(countLeadingZeros(rest) - 8u, power - 1u);
  let shifted = rest << shift;
  let exponent = select(0u, power - shift, shifted >= 0x800000u);
  return f_with_sign(bitcast<f32>((exponent << 23u) | (shifted & 0x7fffffu)), x);
}`,
    // The digits of a float32 that isn't negative as a whole number, given its bits.
    f_digits: `(bits : u32) -> u32 {
  return select((bits & 0x7fffffu) | 0x800000u, bits, bits < 0x800000u);
}`,
    f_quotient: '(x : f32, y : f32) -> f32 { return f_trunc(f_div(x, y)); }',
    // As on the CPU (wasm/sine.ts); WGSL only guarantees an absolute error of 2^-11.
    f_sine: `(x : f32, shift : f32) -> f32 {
  if (x == 0.0f && shift == 0.0f) { return x; }
  if (!(abs(x) < u.inf)) { return u.nan; }
  if (abs(x) > 12000.0f) { return f_far_sine(x, shift); }
  let turns = floor(x * ${numberText(2 / Math.PI)} + 0.5f);
  let first = x - turns * 1.5703125f;
  let second = first - turns * ${numberText(4.837512969970703e-4)};
  let r = second - turns * ${numberText(7.549533620476723e-8)};
  return f_quarter_sine(r, turns + shift);
}`,
    // For larger x, quarter turns are the product of its digits and 96 bits of 2/π: higher bits only count whole turns,
    // lower ones are below the last digit (Payne and Hanek).
    f_far_sine: `(x : f32, shift : f32) -> f32 {
  var bits = array<u32, 8>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
  let size = bitcast<u32>(x) & 0x7fffffffu;
  let digits = f_digits(size);
  let start = (size >> 23u) - 120u;
  let at = start >> 5u;
  let skipped = start & 31u;
  let high = (bits[at] << skipped) | ((bits[at + 1u] >> 1u) >> (31u - skipped));
  let middle = (bits[at + 1u] << skipped) | ((bits[at + 2u] >> 1u) >> (31u - skipped));
  let low = (bits[at + 2u] << skipped) | ((bits[at + 3u] >> 1u) >> (31u - skipped));
  let carried = f_high_product(digits, low);
  let second = digits * middle + carried;
  let first = digits * high + f_high_product(digits, middle) + select(0u, 1u, second < carried);
  // The first two bits are the quarter; the others are rounded to the nearest one.
  let part = (first << 2u) | (second >> 30u);
  let rest = second << 2u;
  let isUpper = (part & 0x80000000u) != 0u;
  let distance = f32(select(part, ~part, isUpper)) * ${numberText(2 ** -32)} + f32(select(rest, ~rest, isUpper)) * ${numberText(2 ** -64)};
  let r = select(distance, -distance, isUpper) * ${numberText(Math.PI / 2)};
  let turns = f32(first >> 30u) + select(0.0f, 1.0f, isUpper);
  return f_quarter_sine(select(r, -r, x < 0.0f), select(turns, -turns, x < 0.0f) + shift);
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
