import { exponentialSeries } from '../../../../numerics/double-series.ts';
import { type Code, i32, i32x4, op, shuffle } from './code.ts';
import { double, horner } from './double-vectors.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';

/**
 * exp, log and tanh of two float64 at a time, without fused multiply-add: the same bits in every engine, whatever
 * the numerics. Errors are below 1 unit in the last place for exp and log (whose polynomial is fdlibm's, e_log.c),
 * and below 2 for tanh. Special values are as in JavaScript, without a branch.
 */

const add = (a: Code, b: Code): Code => op('f64x2.add', a, b);
const sub = (a: Code, b: Code): Code => op('f64x2.sub', a, b);
const mul = (a: Code, b: Code): Code => op('f64x2.mul', a, b);

/** ln 2 in two parts; products of the first with integers below 2^21 are exact. */
const ln2High = 0.6931471803691238;
const ln2Low = 1.9082149292705877e-10;

/** e^x = (1 + high + low) · 2^n for the integer n nearest to x / ln 2. */
function expParts(f: FunctionBuilder, x: Local): Record<'n' | 'high' | 'low', Local> {
  const n = f.local('v128', op('f64x2.nearest', mul(get(x), double(f, Math.LOG2E))));
  // The remainder in two parts, the first of which is exact; the rounding of their difference only affects r².
  const high = f.local('v128', sub(get(x), mul(get(n), double(f, ln2High))));
  const rest = f.local('v128', mul(get(n), double(f, ln2Low)));
  const r = f.local('v128', sub(get(high), get(rest)));
  const curved = mul(mul(get(r), get(r)), horner(f, exponentialSeries.slice(0, -2), r));
  return { n, high, low: f.local('v128', sub(curved, get(rest))) };
}

/** 2^k for two integers from −1022 to 1023 in the lower lanes. */
function powerOfTwo(f: FunctionBuilder, k: Code): Code {
  const biased = op('i32x4.add', k, f.constant(i32x4(1023)));
  const upperWords = op('i32x4.shl', biased, i32(20));
  return shuffle(upperWords, f.constant(i32x4(0)), [4, 0, 4, 1]);
}

export function emitDoubleExp(f: FunctionBuilder, argument: Local): Code {
  // Outside the bounds the result is 0 or infinite; NaN is kept.
  const bounded = op('f64x2.max', op('f64x2.min', get(argument), double(f, 710)), double(f, -746));
  const { n, high, low } = expParts(f, f.local('v128', bounded));
  const sum = f.local('v128', add(double(f, 1), get(high)));
  const lost = sub(get(high), sub(get(sum), double(f, 1)));
  const y = add(get(sum), add(lost, get(low)));
  // 2^n as two factors: a single one would overflow or be subnormal near the ends.
  const whole = f.local('v128', op('i32x4.trunc_sat_f64x2_s_zero', get(n)));
  const half = f.local('v128', op('i32x4.shr_s', get(whole), i32(1)));
  const rest = op('i32x4.sub', get(whole), get(half));
  return mul(mul(y, powerOfTwo(f, get(half))), powerOfTwo(f, rest));
}

const smallestNormal = 2 ** -1022;
const largestSubnormal = smallestNormal - Number.MIN_VALUE;

/** The coefficients of z⁷ … z of 2·artanh(s) − 2s, over s, where z = s². */
const logSeries = [
  0.14798198605116586, 0.15313837699209373, 0.1818357216161805, 0.2222219843214978,
  0.2857142874366239, 0.3999999999940942, 0.6666666666666735,
];

export function emitDoubleLog(f: FunctionBuilder, x: Local): Code {
  const isSubnormal = f.local('v128', op('f64x2.lt', get(x), double(f, smallestNormal)));
  const scaled = mul(get(x), double(f, 2 ** 54));
  const bits = f.local('v128', op('v128.bitselect', scaled, get(x), get(isSubnormal)));
  const biased = op('i32x4.shr_u', shuffle(get(bits), get(bits), [1, 3, 1, 3]), i32(20));
  const bias = op('v128.bitselect', double(f, 1023 + 54), double(f, 1023), get(isSubnormal));
  const e = f.local('v128', sub(op('f64x2.convert_low_i32x4_s', biased), bias));
  // All bits of a fraction are set in the largest subnormal number.
  const fraction = op('v128.and', get(bits), double(f, largestSubnormal));
  const m = f.local('v128', op('v128.or', fraction, double(f, 1)));
  const isLarge = f.local('v128', op('f64x2.gt', get(m), double(f, Math.SQRT2)));
  f.set(e, add(get(e), op('v128.and', get(isLarge), double(f, 1))));
  const halved = mul(get(m), double(f, 0.5));
  const near = op('v128.bitselect', halved, get(m), get(isLarge));
  const t = f.local('v128', sub(near, double(f, 1)));
  const s = f.local('v128', op('f64x2.div', get(t), add(get(t), double(f, 2))));
  const z = f.local('v128', mul(get(s), get(s)));
  const halfSquare = f.local('v128', mul(double(f, 0.5), mul(get(t), get(t))));
  const series = mul(get(z), horner(f, logSeries, z));
  const low = add(mul(get(s), add(get(halfSquare), series)), mul(get(e), double(f, ln2Low)));
  const rest = sub(sub(get(halfSquare), low), get(t));
  const finite = sub(mul(get(e), double(f, ln2High)), rest);
  // +∞ and NaN are kept; 0 gives −∞, negative numbers NaN.
  const ordinary = op('f64x2.lt', get(x), double(f, Number.POSITIVE_INFINITY));
  const kept = op('v128.bitselect', finite, get(x), ordinary);
  const isZero = op('f64x2.eq', get(x), double(f, 0));
  const zero = op('v128.bitselect', double(f, Number.NEGATIVE_INFINITY), kept, isZero);
  const isNegative = op('f64x2.lt', get(x), double(f, 0));
  return op('v128.bitselect', double(f, Number.NaN), zero, isNegative);
}

/** From here on tanh rounds to 1. */
const tanhOne = 22;

/** t/(t + 2) for t = e^(2|x|) − 1 = (high + low) · 2^n + (2^n − 1), with the sign of x. */
export function emitDoubleTanh(f: FunctionBuilder, x: Local): Code {
  const size = op('f64x2.min', op('f64x2.abs', get(x)), double(f, tanhOne));
  const { n, high, low } = expParts(f, f.local('v128', mul(double(f, 2), size)));
  const whole = op('i32x4.trunc_sat_f64x2_s_zero', get(n));
  const power = f.local('v128', powerOfTwo(f, whole));
  const t = f.local(
    'v128',
    add(mul(add(get(high), get(low)), get(power)), sub(get(power), double(f, 1))),
  );
  const magnitude = op('f64x2.div', get(t), add(get(t), double(f, 2)));
  return op('v128.bitselect', get(x), magnitude, double(f, -0));
}
