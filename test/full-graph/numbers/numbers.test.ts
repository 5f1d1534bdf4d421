/** Conformance 91: numbers of a program are JavaScript's own, to the last bit. */

import { describe, expect, it } from 'vitest';
import { arange, type DType, full, ne, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { outcome } from '../outcome.ts';
import { sameAsEager } from '../suite.ts';

const pairs: readonly (readonly [number, number])[] = [
  [1, 2],
  [-3.7, 1.5],
  [0, -0],
  [-0, 5],
  [2 ** 31, 3],
  [-2147483649, 31],
  [2 ** 53 + 2, -7.25],
  [Number.NaN, 1],
  [Number.POSITIVE_INFINITY, -2],
  [2.5, -1],
  [-2.5, 0.5],
];

const inputs = pairs.map((pair) => () => [tensor([...pair], { dtype: 'float64' })]);
const read = (x: Tensor, i: number) => x.select(0, i).itemSync();

describe('numbers of a program', () => {
  it('operators', () => {
    const f = (x: Tensor) => {
      const [a, b] = [read(x, 0), read(x, 1)];
      let c = a;
      c **= 2;
      c++;
      const joined = [a & b, a | b, a ^ b, a << b, a >> b, a >>> b, ~a, -a, +a];
      const compared = [a < b, a >= b, a === b, a !== b, !a, a > 0 === b > 0];
      const truths = Number(a > 0) + Number(b > 0);
      return [a + b, a - b, a * b, a / b, a % b, a ** b, c, truths, ...joined, ...compared];
    };
    sameAsEager(f, inputs);
  });

  it('beside a number that every call brings, on either side', () => {
    const f = (x: Tensor, k: number) => {
      const a = x.amax().itemSync();
      const left = [a + k, a / k, a % k, a ** k, a << k, a < k, Math.max(a, k), Math.atan2(a, k)];
      const right = [k - a, k % a, k ** a, k | a, k >= a, Math.min(k, a), Math.imul(k, a)];
      return [...left, ...right, Object.is(k, a), a > 2 ? Math.hypot(a, k) : k ** (a - 5)];
    };
    const captured = toStatic(f, { fullGraph: true, memory: { order: false } });
    for (const k of [2.5, 3.5, -1.25, 7, 1.5]) {
      for (const a of [1.5, -3.5]) {
        const found = captured(tensor([a, a - 1], { dtype: 'float64' }), k);
        expect(found).toEqual(f(tensor([a, a - 1], { dtype: 'float64' }), k));
      }
    }
    expect(captured.stats().graphs).toBe(2);
  });

  it.each(['int32', 'uint8', 'bool'] as const)('are compared with a tensor of %s', (dtype) => {
    const f = (x: Tensor, own: Tensor) => {
      const n = x.itemSync();
      const ordered = [own.lt(n), own.le(n), own.gt(n), own.ge(n)];
      return [own.eq(n), ne(own, n), ...ordered];
    };
    const bounds = dtype === 'int32' ? [2 ** 24 + 1, -(2 ** 31), 2 ** 31 - 1] : [];
    const own = [0, 1, ...(dtype === 'bool' ? [] : [2, 3, 255, ...bounds])];
    const numbers = [0, 1, 2, 2.5, -0.5, 255.5, 300, 2 ** 24 + 0.5, 2 ** 31, -(2 ** 40)];
    sameAsEager(
      f,
      [...numbers, Number.NaN, Number.POSITIVE_INFINITY].map((n) => () => [
        tensor([n], { dtype: 'float64' }),
        tensor(own, { dtype }),
      ]),
    );
  });

  it('bound a range, whose dtype they decide as in eager code', () => {
    const f = (n: Tensor) => {
      const end = n.itemSync();
      return [arange(0, end).lt(end), arange(0, 4).le(end)];
    };
    sameAsEager(
      f,
      [3, 1, 4].map((n) => () => [tensor([n])]),
    );
  });

  it('become tensors', () => {
    const f = (x: Tensor) => {
      const [a, b] = [read(x, 0), read(x, 1)];
      const own = tensor(a * 2);
      own.add_(1);
      return [
        [own, tensor([a, b, 3]), tensor([[a], [b]], { dtype: 'float64' }), tensor([a > b, true])],
        [
          full([2, 3], a + b),
          full([], a, { dtype: 'float64' }),
          tensor(a > 0, { dtype: 'bool' }),
          a,
        ],
      ];
    };
    sameAsEager(f, inputs);
  });

  it('functions of Math', () => {
    const f = (x: Tensor) => {
      const [a, b] = [read(x, 0), read(x, 1)];
      return [
        [Math.abs(a), Math.floor(a), Math.ceil(a), Math.trunc(a), Math.round(a), Math.sign(a)],
        [Math.sqrt(a), Math.cbrt(a), Math.exp(a), Math.expm1(a), Math.log(a), Math.log1p(a)],
        [Math.log2(a), Math.log10(a), Math.sin(a), Math.cos(a), Math.tan(a), Math.tanh(a)],
        [Math.asin(a), Math.acos(a), Math.atan(a), Math.sinh(a), Math.cosh(a), Math.asinh(a)],
        [Math.acosh(a), Math.atanh(a), Math.fround(a), Math.clz32(a), Math.imul(a, b)],
        [Math.atan2(a, b), a ** b, Math.hypot(a, b, 3), Math.min(a), Math.max(a, b, 0.25)],
        [Math.min(a, b, -1), Math.max(...[a, b, 1])],
      ];
    };
    sameAsEager(f, inputs);
  });

  it('tests and conversions', () => {
    const f = (x: Tensor) => {
      const [a, b] = [read(x, 0), read(x, 1)];
      const tests = [Number.isNaN(a), Number.isFinite(a), Number.isInteger(a), Object.is(a, b)];
      // biome-ignore lint/suspicious/noGlobalIsNan: it is what is tested.
      const loose = [isNaN(a), Number.isSafeInteger(a), Number.isNaN(a > 0)];
      const read_ = [Number.parseInt(String(3), 10) + a, Number.parseFloat(a as never)];
      return [tests, loose, read_, Number(a), Boolean(a), a.valueOf(), a ?? b, a || b, a && b];
    };
    sameAsEager(f, inputs);
  });

  it('an integer tensor gives and takes integers', () => {
    const f = (x: Tensor) => {
      const n = x.max().itemSync();
      return [x.mul(n), (n << 2) | 1, x.add(n)];
    };
    sameAsEager(f, [() => [tensor([1, 7], { dtype: 'int32' })]]);
  });

  const all = ['float16', 'bfloat16', 'float32', 'float64', 'int32', 'uint8', 'bool'] as const;

  it.each(all)('of %s are what eager execution reads', (dtype) => {
    const f = (x: Tensor) => {
      const [a, b] = [read(x, 0), read(x, 1)];
      const list: number[] = [];
      for (let i = 0; i < b; i++) list.push(a);
      const size = a > 1 ? 'large' : 'small';
      const told = `${a} and ${b}: ${size}`;
      return [a, b, a + b, Math.hypot(a, b), told, list, x.mul(a), full([2], b), tensor([a, b])];
    };
    const make = (values: number[]) => [tensor(values, { dtype: 'float32' }).to(dtype)];
    const graph = toStatic(f, { fullGraph: true });
    for (const values of [
      [3, 2],
      [1, 0],
      [0, 1],
    ]) {
      expect(outcome(graph, make(values))).toEqual(outcome(f, make(values)));
    }
    expect(graph.stats()).toMatchObject({ translations: 1, breaks: [] });
  });

  // A fraction beside integers decides the dtype of the result: it is refused.
  const whole = all.filter((dtype) => !dtype.includes('float'));
  const pairsOf = (numbers: readonly DType[], tensors: readonly DType[]) =>
    numbers.flatMap((number) => tensors.map((each) => [number, each] as const));

  it.each([...pairsOf(all, all.slice(0, 4)), ...pairsOf(whole, whole)])(
    'of %s join a tensor of %s as numbers of the host do',
    (dtype, like) => {
      const f = (x: Tensor, own: Tensor) => {
        const n = read(x, 1);
        return [own.add(n), own.mul(n), own.sub(n), own.eq(n), own.lt(n), own.div(n)];
      };
      const graph = toStatic(f, { fullGraph: true });
      for (const values of [
        [3, 2],
        [0, 1],
        [7, 0],
        [1, 250],
      ]) {
        const make = () => [tensor(values).to(dtype), tensor([0, 1, 3, 200]).to(like)];
        expect(outcome(graph, make())).toEqual(outcome(f, make()));
      }
    },
  );
});
