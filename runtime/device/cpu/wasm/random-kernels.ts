import { type Code, f32, f64, i32, i64, load, op, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { callDouble } from './assembler/lanes.ts';
import { compile, lazily } from './assembler/module-builder.ts';

const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const weyl = [0x9e3779b9, 0xbb67ae85] as const;

/** A constant 32-bit word as an unsigned 64-bit number. */
const wide = (value: Code): Code => op('i64.extend_i32_u', value);

/**
 * (out, blocks, counterLow, counterHigh, key0, key1): four uniform float32 for every block of Philox,
 * the same as `philox.ts` gives.
 */
function uniform(f: FunctionBuilder): void {
  const [out, blocks, low, high, key0, key1] = Array.from({ length: 6 }, () => f.param()) as [
    Local,
    Local,
    Local,
    Local,
    Local,
    Local,
  ];
  const [c0, c1, c2, c3, k0, k1, lowWord0, lowWord1] = Array.from({ length: 8 }, () =>
    f.local('i32'),
  ) as [Local, Local, Local, Local, Local, Local, Local, Local];
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

/** (numbers, pairs): uniform float32 become normal ones in place, as `philox.ts` does it. */
function normal(f: FunctionBuilder): void {
  const [at, pairs] = [f.param(), f.param()];
  const [radius, angle] = [f.local('f64'), f.local('f64')];
  const number = (offset: number): Code => op('f64.promote_f32', load('f32.load', get(at), offset));
  const put = (fn: 'cos' | 'sin', offset: number): void => {
    const value = op('f64.mul', get(radius), callDouble(f, fn, get(angle)));
    f.emit(store('f32.store', get(at), op('f32.demote_f64', value), offset));
  };
  f.countDown(pairs, 1, () => {
    const logarithm = callDouble(f, 'log', op('f64.sub', f64(1), number(0)));
    f.set(radius, op('f64.sqrt', op('f64.mul', f64(-2), logarithm)));
    f.set(angle, op('f64.mul', f64(2 * Math.PI), number(4)));
    put('cos', 0);
    put('sin', 4);
    f.add(at, 8);
  });
}

export const randomKernels = lazily(() => compile({ uniform, normal }));
