import { largestMantissa, logarithmSeries } from '../../../../numerics/double-series.ts';
import { type Code, f32x4, f64x2, i32, i32x4, op, shuffle } from './code.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';

/**
 * Functions of two float64 at a time, composed of +, −, · and /, without fused multiply-add: the same bits in every
 * engine.
 */

export const double = (f: FunctionBuilder, value: number): Code => f.constant(f64x2(value));

/** The lower two of four float32. */
export const doubleOf = (values: Code): Code => op('f64x2.promote_low_f32x4', values);

/** The upper two of four float32, as the lower ones. */
export const upper = (values: Code): Code => shuffle(values, values, [2, 3, 2, 3]);

/** Two pairs of float64 as four float32. */
export const rounded = (low: Code, high: Code): Code =>
  shuffle(op('f32x4.demote_f64x2_zero', low), op('f32x4.demote_f64x2_zero', high), [0, 1, 4, 5]);

/** A polynomial by Horner's scheme, the highest coefficient first. */
export function horner(f: FunctionBuilder, coefficients: readonly number[], x: Local): Code {
  return coefficients
    .map((coefficient) => double(f, coefficient))
    .reduce((sum, coefficient) => op('f64x2.add', op('f64x2.mul', sum, get(x)), coefficient));
}

/** The lower two of four positive, normal float32, decomposed: their logarithm is e · ln 2 + ln m. */
export function logarithmParts(
  f: FunctionBuilder,
  values: Local,
): { readonly e: Code; readonly lnM: Code } {
  const bits = op('v128.and', get(values), f.constant(i32x4(0x7fffff)));
  const fraction = f.local('v128', op('v128.or', bits, f.constant(i32x4(0x3f800000))));
  // −1 where the fraction is halved.
  const isLarge = f.local(
    'v128',
    op('f32x4.gt', get(fraction), f.constant(f32x4(largestMantissa))),
  );
  const halved = op('f32x4.mul', get(fraction), f.constant(f32x4(0.5)));
  const m = f.local('v128', doubleOf(op('v128.bitselect', halved, get(fraction), get(isLarge))));
  const biased = op('i32x4.sub', op('i32x4.shr_u', get(values), i32(23)), get(isLarge));
  const exponent = op('i32x4.sub', biased, f.constant(i32x4(127)));
  const one = double(f, 1);
  const s = f.local(
    'v128',
    op('f64x2.div', op('f64x2.sub', get(m), one), op('f64x2.add', get(m), one)),
  );
  const square = f.local('v128', op('f64x2.mul', get(s), get(s)));
  const cubic = op('f64x2.mul', get(s), get(square));
  const rest = op('f64x2.mul', cubic, horner(f, logarithmSeries, square));
  return {
    e: op('f64x2.convert_low_i32x4_s', exponent),
    lnM: op('f64x2.mul', double(f, 2), op('f64x2.add', get(s), rest)),
  };
}
