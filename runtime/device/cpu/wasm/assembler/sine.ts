import { type Code, f32x4, i32, i32x4, op } from './code.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { byLane } from './lanes.ts';
import { mulAdd, mulSub } from './multiply-add.ts';

/**
 * π/2 in four parts: products of the first three with integers below 2^13 are exact, so the remainder of x after
 * subtracting quarter turns is exact too, except for the rounding of the last part.
 */
const quarterTurn = [1.5703125, 4.837512969970703e-4, 7.549533620476723e-8, 2.5633440682570896e-12];

/** For larger x, products of quarter turns and the parts are not exact. */
const limit = 12_000;

const mul = (a: Code, b: Code): Code => op('f32x4.mul', a, b);

/**
 * sin or cos of four float32; relative error below 2e-7 up to 12,000. Lanes that are larger, infinite or NaN are
 * computed by JavaScript; the bits of the other lanes don't depend on them.
 */
export function emitSine(f: FunctionBuilder, argument: Code, fn: 'sin' | 'cos'): Code {
  const x = f.local('v128', argument);
  const result = f.local('v128');
  const inside = op('f32x4.le', op('f32x4.abs', get(x)), f.constant(f32x4(limit)));
  const near = f.local('v128', inside);
  f.if(
    op('i8x16.all_true', get(near)),
    () => f.set(result, series(f, x, fn)),
    () => {
      const polynomial = f.local('v128', series(f, x, fn));
      f.set(result, op('v128.bitselect', get(polynomial), byLane(f, fn, x), get(near)));
    },
  );
  return get(result);
}

function series(f: FunctionBuilder, x: Local, fn: 'sin' | 'cos'): Code {
  const float = (value: number): Code => f.constant(f32x4(value));
  const turns = f.local('v128', op('f32x4.nearest', mul(get(x), float(2 / Math.PI))));
  const r = f.local('v128', get(x));
  for (const part of quarterTurn) f.set(r, mulSub(get(turns), float(part), get(r)));
  const square = f.local('v128', mul(get(r), get(r)));
  const horner = (coefficients: readonly number[]): Code =>
    coefficients.map(float).reduce((sum, coefficient) => mulAdd(sum, get(square), coefficient));
  const odd = horner([-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]);
  const sine = f.local('v128', mulAdd(mul(odd, get(square)), get(r), get(r)));
  const even = horner([2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1]);
  const cosine = f.local('v128', even);
  // Quarter turns 1 and 3 swap sine and cosine; 2 and 3 (for cos: 1 and 2) change the sign.
  const whole = op('i32x4.trunc_sat_f32x4_s', get(turns));
  const quarter = f.local(
    'v128',
    fn === 'sin' ? whole : op('i32x4.add', whole, f.constant(i32x4(1))),
  );
  const swapped = op(
    'i32x4.ne',
    op('v128.and', get(quarter), f.constant(i32x4(1))),
    f.constant(i32x4(0)),
  );
  const value = op('v128.bitselect', get(cosine), get(sine), swapped);
  const sign = op('i32x4.shl', op('v128.and', get(quarter), f.constant(i32x4(2))), i32(30));
  if (fn === 'cos') return op('v128.xor', value, sign);
  // −0 is kept.
  const isZero = op('f32x4.eq', get(x), f.constant(f32x4(0)));
  return op('v128.bitselect', get(x), op('v128.xor', value, sign), isZero);
}
