import { type Code, f32x4, i32x4, op } from './code.ts';
import { type FunctionBuilder, get } from './function-builder.ts';

/**
 * exp, log and tanh of four float32 at once. Argument reductions and polynomials are those of Cephes
 * (S. Moshier, single precision: expf.c, logf.c, tanhf.c); relative errors stay below 2e-7. Special
 * values come out as in JavaScript without a branch.
 */

const add = (a: Code, b: Code): Code => op('f32x4.add', a, b);
const sub = (a: Code, b: Code): Code => op('f32x4.sub', a, b);
const mul = (a: Code, b: Code): Code => op('f32x4.mul', a, b);

/** Horner's scheme, highest coefficient first. */
function polynomial(x: Code, coefficients: readonly number[]): Code {
  return coefficients
    .slice(1)
    .reduce((sum, c) => add(mul(sum, x), f32x4(c)), f32x4(coefficients[0]!));
}

/** 2^n for lanes −126 to 127: n goes into the exponent field. */
function powerOfTwo(n: Code): Code {
  return op('i32x4.shl', op('i32x4.add', n, i32x4(127)), [0x41, 23]);
}

/** ln 2 in two parts; products of the first with integers below 2^10 are exact. */
const ln2High = 0.693359375;
const ln2Low = -2.1219444e-4;

export function emitExp(f: FunctionBuilder, argument: Code): Code {
  // pmin(x, c) keeps a NaN in x. Outside the clamp the result is 0 or infinite anyway.
  const clamped = op('f32x4.pmax', op('f32x4.pmin', argument, f32x4(89)), f32x4(-104));
  const x = f.local('v128', clamped);
  const n = f.local('v128', op('f32x4.nearest', mul(get(x), f32x4(Math.LOG2E))));
  const reduced = sub(get(x), mul(get(n), f32x4(ln2High)));
  const r = f.local('v128', sub(reduced, mul(get(n), f32x4(ln2Low))));
  const p = polynomial(
    get(r),
    [
      1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
      5.0000001201e-1,
    ],
  );
  const y = add(add(mul(mul(p, get(r)), get(r)), get(r)), f32x4(1));
  const exponent = f.local('v128', op('i32x4.trunc_sat_f32x4_s', get(n)));
  // Two factors: 2^n itself overflows or is subnormal near the ends.
  const half = f.local('v128', op('i32x4.shr_s', get(exponent), [0x41, 1]));
  const rest = op('i32x4.sub', get(exponent), get(half));
  return mul(mul(y, powerOfTwo(get(half))), powerOfTwo(rest));
}

const smallestNormal = 2 ** -126;

export function emitLog(f: FunctionBuilder, argument: Code): Code {
  const x = f.local('v128', argument);
  const subnormal = f.local('v128', op('f32x4.lt', get(x), f32x4(smallestNormal)));
  const scaled = mul(get(x), f32x4(2 ** 23));
  const bits = f.local('v128', op('v128.bitselect', scaled, get(x), get(subnormal)));
  const bias = op('v128.bitselect', i32x4(126 + 23), i32x4(126), get(subnormal));
  const exponent = op('i32x4.sub', op('i32x4.shr_u', get(bits), [0x41, 23]), bias);
  const e = f.local('v128', op('f32x4.convert_i32x4_s', exponent));
  const fraction = op('v128.and', get(bits), i32x4(0x007fffff));
  const m = f.local('v128', op('v128.or', fraction, i32x4(0x3f000000)));
  // The mantissa into [√½, √2), so that the polynomial works around 1.
  const low = f.local('v128', op('f32x4.lt', get(m), f32x4(Math.SQRT1_2)));
  f.set(e, sub(get(e), op('v128.and', get(low), f32x4(1))));
  const doubled = add(get(m), op('v128.and', get(low), get(m)));
  const z = f.local('v128', sub(doubled, f32x4(1)));
  const zz = f.local('v128', mul(get(z), get(z)));
  const p = polynomial(
    get(z),
    [
      7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1,
      -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    ],
  );
  const correction = add(mul(mul(p, get(z)), get(zz)), mul(get(e), f32x4(ln2Low)));
  const tail = sub(correction, mul(get(zz), f32x4(0.5)));
  const finite = add(add(tail, get(z)), mul(get(e), f32x4(ln2High)));
  // +∞ and NaN stay what they are; 0 gives −∞, anything below it NaN.
  const ordinary = op('f32x4.lt', get(x), f32x4(Number.POSITIVE_INFINITY));
  const kept = op('v128.bitselect', finite, get(x), ordinary);
  const infinite = f32x4(Number.NEGATIVE_INFINITY);
  const zero = op('v128.bitselect', infinite, kept, op('f32x4.eq', get(x), f32x4(0)));
  return op('v128.bitselect', f32x4(Number.NaN), zero, op('f32x4.lt', get(x), f32x4(0)));
}

export function emitTanh(f: FunctionBuilder, argument: Code): Code {
  const x = f.local('v128', argument);
  const magnitude = f.local('v128', op('f32x4.abs', get(x)));
  const e = emitExp(f, add(get(magnitude), get(magnitude)));
  const large = sub(f32x4(1), op('f32x4.div', f32x4(2), add(e, f32x4(1))));
  const square = f.local('v128', mul(get(x), get(x)));
  const p = polynomial(
    get(square),
    [-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1],
  );
  const small = add(mul(mul(p, get(square)), get(x)), get(x));
  const isSmall = op('f32x4.lt', get(magnitude), f32x4(0.625));
  const result = op('v128.bitselect', small, large, isSmall);
  // The sign last: −0 stays −0.
  return op('v128.bitselect', result, get(x), i32x4(0x7fffffff));
}
