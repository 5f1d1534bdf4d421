import { cosineSeries, sineSeries } from '../../../numerics/double-series.ts';
import {
  type Code,
  f32,
  f32x4,
  i32,
  i32x4,
  i64,
  lane,
  load,
  op,
  shuffle,
  store,
} from './assembler/code.ts';
import { double, horner, logarithmParts } from './assembler/double-vectors.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { compileWhenRead, lazily } from './assembler/module-builder.ts';

const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const weyl = [0x9e3779b9, 0xbb67ae85] as const;

/** A constant 32-bit word as an unsigned 64-bit number. */
const wide = (value: Code): Code => op('i64.extend_i32_u', value);

/** The operands of a call of `uniform`. */
interface Draw {
  readonly out: Local;
  readonly blocks: Local;
  readonly low: Local;
  readonly high: Local;
  readonly key0: Local;
  readonly key1: Local;
}

/**
 * (out, blocks, counterLow, counterHigh, key0, key1): four uniform float32 for every Philox block, identical to
 * those of `philox.ts`.
 */
function uniform(f: FunctionBuilder): void {
  const [out, blocks, low, high, key0, key1] = f.params(6);
  const draw = { out, blocks, low, high, key0, key1 };
  fourBlocks(f, draw);
  singleBlocks(f, draw);
}

const product = (word: Local, multiplier: Code, half: 'low' | 'high'): Code =>
  op(`i64x2.extmul_${half}_i32x4_u`, get(word), multiplier);

/** Each word of four blocks in one vector. */
function fourBlocks(f: FunctionBuilder, { out, blocks, low, high, key0, key1 }: Draw): void {
  const [c0, c1, c2, c3, k0, k1, low0, high0, low1, high1] = f.locals('v128', 10);
  const splat = (word: Local): Code => op('i32x4.splat', get(word));
  const numbered = [1, 2, 3].reduce(
    (vector, i) => lane('i32x4.replace_lane', i, vector, i32(i)),
    i32x4(0),
  );
  const numbers = f.local('v128', numbered);
  const [times0, times1] = multipliers.map((each) => f.constant(i32x4(each))) as [Code, Code];
  const [next0, next1] = weyl.map((each) => f.constant(i32x4(each))) as [Code, Code];
  const lowWords = [0, 2, 4, 6];
  const highWords = [1, 3, 5, 7];
  const round = (): void => {
    f.set(low0, product(c0, times0, 'low'));
    f.set(high0, product(c0, times0, 'high'));
    f.set(low1, product(c2, times1, 'low'));
    f.set(high1, product(c2, times1, 'high'));
    const mixed = (words: Local, key: Local, l: Local, h: Local): Code =>
      op('v128.xor', op('v128.xor', shuffle(get(l), get(h), highWords), get(words)), get(key));
    f.set(c0, mixed(c1, k0, low1, high1));
    f.set(c2, mixed(c3, k1, low0, high0));
    f.set(c1, shuffle(get(low1), get(high1), lowWords));
    f.set(c3, shuffle(get(low0), get(high0), lowWords));
    f.set(k0, op('i32x4.add', get(k0), next0));
    f.set(k1, op('i32x4.add', get(k1), next1));
  };
  f.countDown(blocks, 4, () => {
    f.set(c0, op('i32x4.add', splat(low), get(numbers)));
    // −1 where the lower word of the counter has wrapped around.
    f.set(c1, op('i32x4.sub', splat(high), op('i32x4.lt_u', get(c0), splat(low))));
    f.set(c2, i32x4(0));
    f.set(c3, i32x4(0));
    f.set(k0, splat(key0));
    f.set(k1, splat(key1));
    for (let i = 0; i < 10; i++) round();
    for (const words of [c0, c1, c2, c3]) {
      const bits = op('f32x4.convert_i32x4_s', op('i32x4.shr_u', get(words), i32(8)));
      f.set(words, op('f32x4.mul', bits, f32x4(2 ** -24)));
    }
    // Interleaves words of two blocks, then whole blocks.
    [
      [0, 4, 1, 5],
      [2, 6, 3, 7],
    ].forEach((pair, i) => {
      f.set(low0, shuffle(get(c0), get(c1), pair));
      f.set(low1, shuffle(get(c2), get(c3), pair));
      const first = shuffle(get(low0), get(low1), [0, 1, 4, 5]);
      const second = shuffle(get(low0), get(low1), [2, 3, 6, 7]);
      f.emit(store('v128.store', get(out), first, i * 32));
      f.emit(store('v128.store', get(out), second, i * 32 + 16));
    });
    f.add(out, 64);
    f.add(low, 4);
    f.add(high, op('i32.lt_u', get(low), i32(4)));
  });
}

function singleBlocks(f: FunctionBuilder, { out, blocks, low, high, key0, key1 }: Draw): void {
  const [c0, c1, c2, c3, k0, k1, lowWord0, lowWord1] = f.locals('i32', 8);
  const product0 = f.local('i64');
  const product1 = f.local('i64');
  const upper = (product: Local): Code =>
    op('i32.wrap_i64', op('i64.shr_u', get(product), i64(32)));
  const round = (): void => {
    f.set(product0, op('i64.mul', wide(i32(multipliers[0])), wide(get(c0))));
    f.set(product1, op('i64.mul', wide(i32(multipliers[1])), wide(get(c2))));
    f.set(lowWord0, op('i32.wrap_i64', get(product0)));
    f.set(lowWord1, op('i32.wrap_i64', get(product1)));
    f.set(c0, op('i32.xor', op('i32.xor', upper(product1), get(c1)), get(k0)));
    f.set(c2, op('i32.xor', op('i32.xor', upper(product0), get(c3)), get(k1)));
    f.set(c1, get(lowWord1));
    f.set(c3, get(lowWord0));
    f.add(k0, i32(weyl[0]));
    f.add(k1, i32(weyl[1]));
  };
  f.countDown(blocks, 1, () => {
    f.set(c0, get(low));
    f.set(c1, get(high));
    f.set(c2, i32(0));
    f.set(c3, i32(0));
    f.set(k0, get(key0));
    f.set(k1, get(key1));
    for (let i = 0; i < 10; i++) round();
    [c0, c1, c2, c3].forEach((word, i) => {
      const bits = op('f32.convert_i32_s', op('i32.shr_u', get(word), i32(8)));
      f.emit(store('f32.store', get(out), op('f32.mul', bits, f32(2 ** -24)), i * 4));
    });
    f.add(out, 16);
    f.add(low, 1);
    f.add(high, op('i32.eqz', get(low)));
  });
}

/** (numbers, blocks): turns four uniform float32 of each block into normal ones in place, like `box-muller.ts`. */
function normal(f: FunctionBuilder): void {
  const [at, blocks] = [f.param(), f.param()];
  const [pairs, along, across] = f.locals('v128', 3);
  f.countDown(blocks, 1, () => {
    f.set(pairs, load('v128.load', get(at)));
    const radius = f.local('v128', radii(f, shuffle(get(pairs), get(pairs), [0, 2, 0, 2])));
    const turns = shuffle(get(pairs), get(pairs), [1, 3, 1, 3]);
    const circle = pointsOnCircle(f, op('f64x2.promote_low_f32x4', turns));
    const rounded = (value: Code): Code =>
      op('f32x4.demote_f64x2_zero', op('f64x2.mul', get(radius), value));
    f.set(along, rounded(circle.along));
    f.set(across, rounded(circle.across));
    f.emit(store('v128.store', get(at), shuffle(get(along), get(across), [0, 4, 1, 5])));
    f.add(at, 16);
  });
}

/** √(−2 ln(1 − u)) for u in the lower two of four float32. */
function radii(f: FunctionBuilder, uniforms: Code): Code {
  const rest = f.local('v128', op('f32x4.sub', f.constant(f32x4(1)), uniforms));
  const { e, lnM } = logarithmParts(f, rest);
  const logarithm = op('f64x2.add', op('f64x2.mul', e, double(f, Math.LN2)), lnM);
  return op('f64x2.sqrt', op('f64x2.mul', double(f, -2), logarithm));
}

/** cos and sin of 2πv for two float64. */
function pointsOnCircle(
  f: FunctionBuilder,
  turns: Code,
): { readonly along: Code; readonly across: Code } {
  const quarters = f.local('v128', op('f64x2.mul', turns, double(f, 4)));
  const quarter = f.local(
    'v128',
    op('f64x2.floor', op('f64x2.add', get(quarters), double(f, 0.5))),
  );
  const remainder = op('f64x2.sub', get(quarters), get(quarter));
  const angle = f.local('v128', op('f64x2.mul', remainder, double(f, Math.PI / 2)));
  const square = f.local('v128', op('f64x2.mul', get(angle), get(angle)));
  const ofSine = op(
    'f64x2.mul',
    op('f64x2.mul', get(angle), get(square)),
    horner(f, sineSeries, square),
  );
  const sine = f.local('v128', op('f64x2.add', get(angle), ofSine));
  const ofCosine = op(
    'f64x2.mul',
    op('f64x2.mul', get(square), get(square)),
    horner(f, cosineSeries, square),
  );
  const start = op('f64x2.sub', double(f, 1), op('f64x2.mul', double(f, 0.5), get(square)));
  const cosine = f.local('v128', op('f64x2.add', start, ofCosine));
  const is = (number: number): Code => op('f64x2.eq', get(quarter), double(f, number));
  const [first, second, third] = [1, 2, 3].map((number) => get(f.local('v128', is(number)))) as [
    Code,
    Code,
    Code,
  ];
  const isOdd = f.local('v128', op('v128.or', first, third));
  const signed = (value: Code, a: Code, b: Code): Code =>
    op('v128.xor', value, op('v128.and', op('v128.or', a, b), double(f, -0)));
  return {
    along: signed(op('v128.bitselect', get(sine), get(cosine), get(isOdd)), first, second),
    across: signed(op('v128.bitselect', get(cosine), get(sine), get(isOdd)), second, third),
  };
}

export const randomKernels = lazily(() => compileWhenRead([{ uniform }, { normal }]));
