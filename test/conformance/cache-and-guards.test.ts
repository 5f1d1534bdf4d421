/** Entries 1–19, 35 and 71–73 of the conformance catalogue; T: translations after each call. */

import { describe, expect, it } from 'vitest';
import {
  breakGraph,
  maxPool2d,
  nn,
  noGrad,
  ones,
  ShapeError,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { expectSameAsEager, values, weights } from '../trace/same-as-eager.ts';

const relu = (x: Tensor) => x.relu();
const gelu = (x: Tensor) => x.mul(x.mul(1.702).sigmoid());

class Net extends nn.Module {
  readonly linear = new nn.Linear(2, 2);
  constructor() {
    super();
    noGrad(() => this.linear.weight.copy_(values([2, 2])));
    noGrad(() => this.linear.bias?.copy_(values([2])));
  }
  override forward(x: Tensor) {
    const y = this.linear.forward(x);
    return this.training ? y.mul(2) : y;
  }
}

describe('conformance, cache and guards', () => {
  it('1: an array of tensors: same shapes T1, swapped T1, another shape T2', () => {
    const [a, b] = [values([2, 3]), values([2, 3], 1)];
    const { translations } = expectSameAsEager(() => ({
      fn: (list: Tensor[]) => list[0]!.add(list[1]!),
      args: (call) => [
        [
          [a, b],
          [b, a],
          [values([4, 3]), values([4, 3], 1)],
        ][call],
      ],
    }));
    expect(translations).toEqual([1, 1, 2]);
  });

  it('2: an index of two numbers (1, 1) T1, (2, 0) T2; an element never read costs nothing', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor[], y: number, z: number) => x[y + z]!.mul(2),
        args: (call) => [
          [values([1 + call]), values([3]), values([2])],
          call < 2 ? 1 : 2,
          call < 2 ? 1 : 0,
        ],
      }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 1, 2, 2]);
  });

  it('3: numbers x + y: T1, changed T2, then symbolic', () => {
    const { translations } = expectSameAsEager(
      () => ({ fn: (x: number, y: number) => x + y, args: (call) => [2, [3, 3, 4, 5, 9][call]] }),
      { calls: 5 },
    );
    expect(translations).toEqual([1, 1, 2, 2, 2]);
  });

  it('4: a tensor and a number together, 3 then 6: T1, T2', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, y: Tensor, z: number) => [x.add(y), z + z],
        args: (call) => [values([2]), values([2], 1), [3, 6, 7][call]],
      }),
      { calls: 3 },
    );
    expect(translations).toEqual([1, 2, 2]);
  });

  it('5: a function as argument: relu T1, gelu T2, relu T2, null T3', () => {
    const functions = [relu, gelu, relu, null];
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, f: ((x: Tensor) => Tensor) | null) => (f ? f(x) : x.neg()),
        args: (call) => [weights([3]), functions[call]],
      }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 2, 2, 3]);
  });

  it('6: callable objects: f1 T1, f2 T2, f2 T2', () => {
    const callable = (by: number) => Object.assign((x: Tensor) => x.mul(by), { by });
    const { translations } = expectSameAsEager(() => {
      const [f1, f2] = [callable(2), callable(3)];
      return {
        fn: (x: Tensor, f: ReturnType<typeof callable>) => f(x).add(f.by),
        args: (call) => [values([3]), call === 0 ? f1 : f2],
      };
    });
    expect(translations).toEqual([1, 2, 2]);
  });

  it('7: shape[0] of the same shape T1, T1; 2 T1, then 3 to 6 T2', () => {
    const fn = (x: Tensor) => x.mul(x.shape[0]!);
    const same = expectSameAsEager(() => ({ fn, args: () => [values([4, 2])] }), { calls: 2 });
    expect(same.translations).toEqual([1, 1]);
    const { translations } = expectSameAsEager(
      () => ({ fn, args: (call) => [values([2 + call, 2])] }),
      { calls: 5 },
    );
    expect(translations).toEqual([1, 2, 2, 2, 2]);
  });

  it('8 and 18: a module in evaluation T1, T1; in training T2; and back T2, each in its mode', () => {
    const { translations } = expectSameAsEager(
      () => {
        const net = new Net();
        return {
          fn: (x: Tensor) => net.forward(x),
          args: (call) => {
            net.train(call === 2);
            return [values([1, 2])];
          },
        };
      },
      { calls: 4 },
    );
    expect(translations).toEqual([1, 1, 2, 2]);
  });

  it('9: a branch on the dtype inside a loop, 10 calls: T1', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          for (let i = 0; i < 10; i++) x = x.dtype === 'float32' ? x.add(1) : x.mul(2);
          return x;
        },
        args: () => [values([2])],
      }),
      { calls: 10 },
    );
    expect(translations[9]).toBe(1);
  });

  it('10: 30 different floats, also past the limit of entries', () => {
    const make = () => ({
      fn: (x: Tensor, by: number) => x.mul(by),
      args: (call: number) => [weights([2]), call + 0.5],
    });
    expect(expectSameAsEager(make, { calls: 30 }).stats.translations).toBe(2);
    const { stats } = expectSameAsEager(make, { calls: 30, dynamic: false });
    expect(stats.translations).toBe(8);
    expect(stats.fallbacks).toHaveLength(1);
  });

  it('11: an array of functions, walked twice: T1', () => {
    const { translations } = expectSameAsEager(() => {
      const layers = [relu, gelu];
      return {
        fn: (x: Tensor) => {
          for (let turn = 0; turn < 2; turn++) for (const layer of layers) x = layer(x);
          return x;
        },
        args: () => [weights([3])],
      };
    });
    expect(translations).toEqual([1, 1, 1]);
  });

  it('12: a tensor-if with a number argument 1 T2, and 2 needs no third: what stands beside a break is symbolic', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => {
          const y = x.mul(2);
          if (y.mean().gt(0).itemSync()) return y.add(n);
          return y.sub(n);
        },
        args: (call) => [ones([2]), [1, 2, 2][call]],
      }),
      { calls: 3 },
    );
    expect(translations).toEqual([2, 2, 2]);
  });

  it('13: a number 2 T1, 3 to 6 T2; the same inside an object', () => {
    const plain = expectSameAsEager(
      () => ({ fn: (x: Tensor, n: number) => x.mul(n), args: (call) => [values([2]), 2 + call] }),
      { calls: 5 },
    );
    expect(plain.translations).toEqual([1, 2, 2, 2, 2]);
    const inside = expectSameAsEager(
      () => ({
        fn: (x: Tensor, o: { n: number }) => x.mul(o.n),
        args: (call) => [values([2]), { n: 2 + call }],
      }),
      { calls: 5 },
    );
    expect(inside.translations).toEqual([1, 2, 2, 2, 2]);
  });

  it('14: reshape to [2i, 5]: T1, T2', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, i: number) => x.reshape([2 * i, 5]).sum(0),
        args: (call) => [values([10 * (call + 2)]), call + 2],
      }),
      { calls: 5 },
    );
    expect(translations).toEqual([1, 2, 2, 2, 2]);
  });

  it('15: if (n < 4), n = 0 … 5: an entry for each outcome that needs one, never more than n + 1', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => (n < 4 ? x.add(n) : x.sub(n)),
        args: (call) => [values([2]), call],
      }),
      { calls: 6 },
    );
    translations.forEach((count, n) => {
      expect(count).toBeLessThanOrEqual(n + 1);
    });
    expect(translations[5]).toBe(translations[4]);
  });

  it('16: the kernel size of a pool, 1 … 4: a trace for the first, then one for all', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, size: number) => maxPool2d(x, size).sum(),
        args: (call) => [values([1, 1, 12, 12]), call + 1],
      }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 2, 2, 2]);
  });

  it('17: 22 number operators on shape[0]: no break, T1, T2', () => {
    const { translations, stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          const n = x.shape[0]!;
          const results = [
            n + 2,
            n - 2,
            n * 2,
            n / 2,
            n % 3,
            n ** 2,
            -n,
            +n,
            ~n,
            n << 1,
            n >> 1,
            n >>> 1,
            n & 6,
            n | 1,
            n ^ 3,
            n < 100,
            n <= 100,
            n > 100,
            n >= 100,
            n === 100,
            n !== 100,
            Math.floor(n / 2) + Math.max(n, 3),
          ];
          return [x.mul(n), ...results, n < 100 ? 'few' : 'many'];
        },
        args: (call) => [values([[4, 5, 6, 7, 20][call]!])],
      }),
      { calls: 5 },
    );
    expect(stats.breaks).toEqual([]);
    expect(translations).toEqual([1, 2, 2, 2, 2]);
  });

  it('19: a guard that throws is a miss', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, o?: { a: { n: number } }) => x.mul(o?.a?.n ?? 7),
        args: (call) => [values([2]), [{ a: { n: 2 } }, {}, undefined, { a: { n: 2 } }][call]],
      }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 2, 3, 3]);
  });
});

describe('conformance, policy', () => {
  it('35: a minimum of 10 ops over if, for and call: the same, and nothing is compiled', () => {
    const inner = (x: Tensor) => x.mul(2).add(1);
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          for (let i = 0; i < 2; i++) x = inner(x);
          return x.sum().itemSync() > 0 ? x.mul(2) : x.neg();
        },
        args: (call) => [weights([3], call)],
      }),
      { minGraphSize: 10, calls: 4 },
    );
    expect(stats).toMatchObject({ graphs: 0, graphRuns: 0, fallbacks: [] });
  });

  it('71: a network that breaks, called 20 times: each part is compiled once', () => {
    const { translations, stats } = expectSameAsEager(
      () => {
        const net = new Net();
        return {
          fn: (x: Tensor) => {
            const y = net.forward(x);
            breakGraph();
            return net.forward(y.relu()).sum();
          },
          args: () => [values([3, 2])],
        };
      },
      { calls: 20 },
    );
    expect(translations[0]).toBe(translations[19]);
    expect(stats).toMatchObject({ graphs: 2, graphRuns: 40 });
  });

  it('71: a code without graphs is skipped after 10', () => {
    const f = toStatic((key: string) => {
      breakGraph();
      const first = `${key}!`.length;
      breakGraph();
      return first + `${key}?`.length;
    });
    for (let i = 0; i < 20; i++) expect(f('k'.repeat(i))).toBe(2 * i + 2);
    const { translations, fallbacks } = f.stats();
    expect(translations).toBeLessThanOrEqual(12);
    for (let i = 0; i < 20; i++) f('z'.repeat(i));
    expect(f.stats()).toMatchObject({ translations, fallbacks });
  });

  it('72: an error while tracing names the original file, line and column', () => {
    const f = toStatic((x: Tensor) => {
      const y = x.mul(2);
      return y.matmul(ones([7, 7]));
    });
    try {
      f(ones([2, 3]));
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ShapeError);
      expect((error as Error).message).toMatch(/cache-and-guards\.test\.ts:\d+:16/);
    }
    expect(f.stats().breaks[0]).toMatchObject({
      reason: 'op-error',
      at: { file: expect.stringMatching(/cache-and-guards\.test\.ts$/), column: 14 },
    });
  });

  it('73: statistics survive a round trip through JSON', () => {
    const f = toStatic((x: Tensor) => {
      const y = x.mul(2);
      breakGraph();
      return y.sum();
    });
    f(ones([2]));
    expect(JSON.parse(JSON.stringify(f.stats()))).toEqual(f.stats());
  });
});
