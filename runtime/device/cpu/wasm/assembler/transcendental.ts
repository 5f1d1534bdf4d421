import { type Code, f32x4, i32, i32x4, op } from './code.ts';
import { type FunctionBuilder, get } from './function-builder.ts';
import { mulAdd, mulSub } from './multiply-add.ts';

/**
 * exp, log and tanh of four float32 at a time. Relative errors are below 2e-7 for exp and log, which follow Cephes
 * (S. Moshier, single precision: expf.c, logf.c), and below 3.5e-7 for tanh, the rational function of Eigen's
 * generic packet math. Special values are as in JavaScript, without a branch.
 */

const add = (a: Code, b: Code): Code => op('f32x4.add', a, b);
const sub = (a: Code, b: Code): Code => op('f32x4.sub', a, b);
const mul = (a: Code, b: Code): Code => op('f32x4.mul', a, b);

const floats = (f: FunctionBuilder) => (value: number) => f.constant(f32x4(value));
const ints = (f: FunctionBuilder) => (value: number) => f.constant(i32x4(value));

/**
 * Estrin's scheme, highest coefficient first: pairs, then pairs of pairs. It needs one more product than Horner's
 * scheme, but half the latency, which limits these loops.
 */
function polynomial(f: FunctionBuilder, x: Code, coefficients: readonly number[]): Code {
  let terms = [...coefficients].reverse().map(floats(f));
  let power = x;
  while (terms.length > 1) {
    const pairs: Code[] = [];
    for (let i = 0; i < terms.length; i += 2) {
      const [low, high] = [terms[i]!, terms[i + 1]];
      pairs.push(high ? mulAdd(high, power, low) : low);
    }
    terms = pairs;
    if (terms.length > 1) power = get(f.local('v128', mul(power, power)));
  }
  return terms[0]!;
}

/** ln 2 in two parts; products of the first with integers below 2^10 are exact. */
const ln2High = 0.693359375;
const ln2Low = -2.1219444e-4;

/** Adding 1.5 · 2^23 rounds to an integer and leaves it in the low bits. */
const rounder = 1.5 * 2 ** 23;
const rounderBits = 0x4b400000;

/** e or 2 to the power of four float32. */
export function emitExp(f: FunctionBuilder, argument: Code, base = Math.E): Code {
  const [float, int] = [floats(f), ints(f)];
  // pmin(x, c) keeps a NaN in x. Outside the clamp the result is 0 or infinite anyway.
  const [upper, lower, perUnit] = base === 2 ? [129, -151, 1] : [89, -104, Math.LOG2E];
  const clamped = op('f32x4.pmax', op('f32x4.pmin', argument, float(upper)), float(lower));
  const x = f.local('v128', clamped);
  const shifted = f.local('v128', mulAdd(get(x), float(perUnit), float(rounder)));
  const n = f.local('v128', sub(get(shifted), float(rounder)));
  const reduced = mulSub(get(n), float(ln2High), get(x));
  const natural = mulSub(get(n), float(ln2Low), reduced);
  const r = f.local('v128', base === 2 ? mul(sub(get(x), get(n)), float(Math.LN2)) : natural);
  const p = polynomial(
    f,
    get(r),
    [
      1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
      5.0000001201e-1,
    ],
  );
  const y = add(mulAdd(p, mul(get(r), get(r)), get(r)), float(1));
  // 2^n as two factors: a single one would overflow or be subnormal near the ends.
  const exponent = f.local('v128', op('i32x4.sub', get(shifted), int(rounderBits)));
  const half = f.local('v128', op('i32x4.shr_s', get(exponent), i32(1)));
  const rest = op('i32x4.sub', get(exponent), get(half));
  const powerOfTwo = (k: Code): Code => op('i32x4.shl', op('i32x4.add', k, int(127)), i32(23));
  return mul(mul(y, powerOfTwo(get(half))), powerOfTwo(rest));
}

const smallestNormal = 2 ** -126;

/** Logarithm of four float32 to base e or 2. */
export function emitLog(f: FunctionBuilder, argument: Code, base = Math.E): Code {
  const [float, int] = [floats(f), ints(f)];
  const x = f.local('v128', argument);
  const subnormal = f.local('v128', op('f32x4.lt', get(x), float(smallestNormal)));
  const scaled = mul(get(x), float(2 ** 23));
  const bits = f.local('v128', op('v128.bitselect', scaled, get(x), get(subnormal)));
  const bias = op('v128.bitselect', int(126 + 23), int(126), get(subnormal));
  const exponent = op('i32x4.sub', op('i32x4.shr_u', get(bits), i32(23)), bias);
  const e = f.local('v128', op('f32x4.convert_i32x4_s', exponent));
  const fraction = op('v128.and', get(bits), int(0x007fffff));
  const m = f.local('v128', op('v128.or', fraction, int(0x3f000000)));
  // Scales the mantissa to [√½, √2), so that the polynomial is evaluated near 1.
  const low = f.local('v128', op('f32x4.lt', get(m), float(Math.SQRT1_2)));
  f.set(e, sub(get(e), op('v128.and', get(low), float(1))));
  const doubled = add(get(m), op('v128.and', get(low), get(m)));
  const z = f.local('v128', sub(doubled, float(1)));
  const zz = f.local('v128', mul(get(z), get(z)));
  const p = polynomial(
    f,
    get(z),
    [
      7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1,
      -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    ],
  );
  const cubic = mul(p, mul(get(z), get(zz)));
  const half = mul(get(zz), float(0.5));
  const tail = sub(mulAdd(get(e), float(ln2Low), cubic), half);
  const natural = mulAdd(get(e), float(ln2High), add(tail, get(z)));
  // Powers of two have z = 0 and are exact.
  const binary = mulAdd(add(sub(cubic, half), get(z)), float(Math.LOG2E), get(e));
  const finite = base === 2 ? binary : natural;
  // +∞ and NaN are kept; 0 gives −∞, negative numbers NaN.
  const ordinary = op('f32x4.lt', get(x), float(Number.POSITIVE_INFINITY));
  const kept = op('v128.bitselect', finite, get(x), ordinary);
  const infinite = float(Number.NEGATIVE_INFINITY);
  const zero = op('v128.bitselect', infinite, kept, op('f32x4.eq', get(x), float(0)));
  return op('v128.bitselect', float(Number.NaN), zero, op('f32x4.lt', get(x), float(0)));
}

/** The limit of the rational function, within its error of 1; from the second one on, tanh rounds to 1. */
const tanhLimit = 7.9053111;
const tanhOne = 9.0109;

export function emitTanh(f: FunctionBuilder, argument: Code): Code {
  const float = floats(f);
  const x = f.local('v128', argument);
  const limited = op('f32x4.pmax', op('f32x4.pmin', get(x), float(tanhLimit)), float(-tanhLimit));
  const c = f.local('v128', limited);
  const square = f.local('v128', mul(get(c), get(c)));
  const odd = polynomial(
    f,
    get(square),
    [
      -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-8,
      1.48572235717979e-5, 6.37261928875436e-4, 4.89352455891786e-3,
    ],
  );
  const even = polynomial(
    f,
    get(square),
    [1.19825839466702e-6, 1.18534705686654e-4, 2.268434632439e-3, 4.89352518554385e-3],
  );
  const ratio = mul(op('f32x4.div', odd, even), get(c));
  // Near 0, tanh x equals x to the last bit, including −0.
  const magnitude = f.local('v128', op('f32x4.abs', get(x)));
  const isTiny = op('f32x4.lt', get(magnitude), float(4e-4));
  const inside = op('v128.bitselect', get(x), ratio, isTiny);
  const one = op('v128.bitselect', float(1), get(x), f.constant(i32x4(0x7fffffff)));
  return op('v128.bitselect', one, inside, op('f32x4.gt', get(magnitude), float(tanhOne)));
}
