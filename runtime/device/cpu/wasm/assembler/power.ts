import { exponentialSeries } from '../../../../numerics/double-series.ts';
import { type Code, f32x4, i32, i32x4, op, shuffle } from './code.ts';
import { double, doubleOf, horner, logarithmParts, rounded, upper } from './double-vectors.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { byLane } from './lanes.ts';

/**
 * Powers and remainders of four float32, in float64. Lanes with unusual operands are computed by JavaScript; the bits
 * of the others don't depend on them.
 */

/** Both halves of a vector of four float32, each as two lanes. */
const halves = (values: Local): readonly [Code, Code] => [get(values), upper(get(values))];

const narrowed = (low: Code, high: Code): Code => shuffle(low, high, [0, 2, 4, 6]);

/** Computes `usual` where `isUsual`, and JavaScript's function elsewhere. */
function orByLane(
  f: FunctionBuilder,
  fn: 'pow' | 'rem',
  [x, y]: readonly [Local, Local],
  usual: Local,
  isUsual: Local,
): Code {
  const result = f.local('v128', get(usual));
  f.if(op('i32.eqz', op('i8x16.all_true', get(isUsual))), () => {
    const others = f.local('v128', byLane(f, fn, x, y));
    f.set(result, op('v128.bitselect', get(usual), get(others), get(isUsual)));
  });
  return get(result);
}

/** The largest exponent of 2 whose power is normal, with room for rounding. */
const largestExponent = 125;

/** The bits of a float64 below the last bit of a float32, and their value midway between two float32. */
const lowerBits = 2 ** 29 - 1;
const middle = 2 ** 28;
/** An upper bound of the power's error, in units in the last place. */
const doubt = 2 ** 12;

/**
 * Whether float64 numbers are far enough from the midpoint of two float32 to be rounded correctly despite their error.
 */
function roundsClearly(f: FunctionBuilder, values: Local): Code {
  const rest = op('v128.and', get(values), f.constant(i32x4(lowerBits)));
  const distance = op('i32x4.abs', op('i32x4.sub', rest, f.constant(i32x4(middle))));
  return op('i32x4.gt_s', distance, f.constant(i32x4(doubt)));
}

/** x to the power y as 2^(y · log₂ x), where x and the result are positive and normal. */
export function emitPower(f: FunctionBuilder, x: Local, y: Local): Code {
  const positive = op('f32x4.ge', get(x), f.constant(f32x4(2 ** -126)));
  const finite = op('f32x4.lt', get(x), f.constant(f32x4(Number.POSITIVE_INFINITY)));
  const hasLogarithm = f.local('v128', op('v128.and', positive, finite));
  const half = (base: Code, exponent: Code) => {
    const { e, lnM } = logarithmParts(f, f.local('v128', base));
    const binary = op('f64x2.add', e, op('f64x2.mul', lnM, double(f, Math.LOG2E)));
    const t = f.local('v128', op('f64x2.mul', doubleOf(exponent), binary));
    const isNormal = op('f64x2.le', op('f64x2.abs', get(t)), double(f, largestExponent));
    const n = f.local('v128', op('f64x2.nearest', get(t)));
    const r = f.local(
      'v128',
      op('f64x2.mul', op('f64x2.sub', get(t), get(n)), double(f, Math.LN2)),
    );
    const whole = op('i32x4.trunc_sat_f64x2_s_zero', get(n));
    const scale = op('i32x4.shl', op('i32x4.add', whole, f.constant(i32x4(127))), i32(23));
    const power = f.local(
      'v128',
      op('f64x2.mul', horner(f, exponentialSeries, r), doubleOf(scale)),
    );
    return {
      power,
      isNormal: f.local('v128', isNormal),
      isClear: f.local('v128', roundsClearly(f, power)),
    };
  };
  const [lowX, highX] = halves(x);
  const [lowY, highY] = halves(y);
  const [low, high] = [half(lowX, lowY), half(highX, highY)];
  const usual = f.local('v128', rounded(get(low.power), get(high.power)));
  const isNormal = narrowed(get(low.isNormal), get(high.isNormal));
  const isClear = narrowed(get(low.isClear), get(high.isClear));
  const isUsual = op('v128.and', op('v128.and', get(hasLogarithm), isNormal), isClear);
  return orByLane(f, 'pow', [x, y], usual, f.local('v128', isUsual));
}

/** With larger quotients, quotient times divisor has more bits than a float64. */
const largestQuotient = 2 ** 28;

/**
 * x % y, exactly: a quotient of two float32 up to 2²⁸, rounded to float64, never rounds up to an integer, and the
 * difference has no more bits than the operands.
 */
export function emitRemainder(f: FunctionBuilder, x: Local, y: Local): Code {
  const half = (dividend: Code, divisor: Code) => {
    const [a, b] = [f.local('v128', doubleOf(dividend)), f.local('v128', doubleOf(divisor))];
    const quotient = f.local('v128', op('f64x2.trunc', op('f64x2.div', get(a), get(b))));
    const isSmall = op('f64x2.lt', op('f64x2.abs', get(quotient)), double(f, largestQuotient));
    const rest = op('f64x2.sub', get(a), op('f64x2.mul', get(quotient), get(b)));
    return { rest: f.local('v128', rest), isSmall: f.local('v128', isSmall) };
  };
  const [lowX, highX] = halves(x);
  const [lowY, highY] = halves(y);
  const [low, high] = [half(lowX, lowY), half(highX, highY)];
  // The sign is the dividend's, of zeros too.
  const sign = op('v128.and', get(x), f.constant(f32x4(-0)));
  const rest = rounded(get(low.rest), get(high.rest));
  const usual = f.local('v128', op('v128.or', rest, sign));
  const bound = f.constant(f32x4(Number.POSITIVE_INFINITY));
  const hasBound = op('f32x4.lt', op('f32x4.abs', get(y)), bound);
  const isSmall = narrowed(get(low.isSmall), get(high.isSmall));
  const isUsual = f.local('v128', op('v128.and', isSmall, hasBound));
  return orByLane(f, 'rem', [x, y], usual, isUsual);
}
