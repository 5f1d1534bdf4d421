/**
 * What costs an entry and what doesn't.
 */

import { describe, expect, it } from 'vitest';
import { enableGrad, nn, noGrad, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

const gelu = (x: Tensor) => x.mul(x.mul(1.702).sigmoid());
const relu = (x: Tensor) => x.relu();

describe('the cache', () => {
  it('takes an array of tensors by its shapes', () => {
    const shapes = [[2], [2], [3]];
    const { translations } = expectSameAsEager(() => ({
      fn: (a: Tensor[]) => a[0]!.add(a[1]!),
      args: (call) => [[values(shapes[call]!), values(shapes[call]!, 1)]],
    }));
    expect(translations).toEqual([1, 1, 2]);
  });

  it('does not care for an element that was never read', () => {
    const { translations } = expectSameAsEager(() => ({
      fn: (x: Tensor[], y: number, z: number) => x[y + z]!.mul(2),
      args: (call) => [[values([1]), values([1 + call]), values([2])], 1, 1],
    }));
    expect(translations).toEqual([1, 1, 1]);
  });

  it('takes a number for a constant until it differs', () => {
    const { translations } = expectSameAsEager(
      () => ({ fn: (x: number, y: number) => x + y, args: (call) => [1, [2, 2, 3, 3][call]] }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 1, 2, 2]);
  });

  it('returns a tensor and a number together', () => {
    const { translations } = expectSameAsEager(() => ({
      fn: (x: Tensor, y: Tensor, z: number) => [x.add(y), z + z],
      args: (call) => [values([2]), values([2], 1), call < 2 ? 3 : 6],
    }));
    expect(translations).toEqual([1, 1, 2]);
  });

  it('takes a function argument by identity, and null for none', () => {
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

  it('takes objects with a method by what was read of them', () => {
    class Scale {
      readonly by: number;
      constructor(by: number) {
        this.by = by;
      }
      apply(x: Tensor) {
        return x.mul(this.by);
      }
    }
    const { translations } = expectSameAsEager(
      () => {
        const scales = [new Scale(2), new Scale(3), new Scale(3)];
        return {
          fn: (x: Tensor, f: Scale) => f.apply(x),
          args: (call) => [values([3]), scales[call]],
        };
      },
      { calls: 3 },
    );
    expect(translations).toEqual([1, 2, 2]);
  });

  it('knows an argument by its shape', () => {
    const sizes = [2, 2, 3, 3, 2];
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => x.mul(x.shape[0]!),
        args: (call) => [values([sizes[call]!, 2])],
      }),
      { calls: 5 },
    );
    expect(translations).toEqual([1, 1, 2, 2, 2]);
  });

  it('keeps a module in training mode and one in evaluation mode apart', () => {
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
    const { translations } = expectSameAsEager(
      () => {
        const net = new Net();
        return {
          fn: (x: Tensor, training: boolean) => {
            if (net.training !== training) throw new Error('mode');
            return net.forward(x);
          },
          args: (call) => {
            net.train(call === 2);
            return [values([1, 2]), call === 2];
          },
        };
      },
      { calls: 4 },
    );
    expect(translations).toEqual([1, 1, 2, 2]);
  });

  it('stays right past its limit, and says that it gave up', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, by: number) => x.mul(by),
        args: (call) => [weights([2]), call + 0.5],
      }),
      { calls: 30, dynamic: false },
    );
    expect(stats.translations).toBe(8);
    expect(stats.fallbacks).toHaveLength(1);
    expect(stats.fallbacks[0]!.at?.file).toMatch(/cache-and-guards/);
  });

  it('gives a number that came out of a break no entry of its own for ever', () => {
    const { stats, translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          const y = x.add(1);
          const s = x.sum().itemSync();
          return y.relu().mul(s).add(1);
        },
        args: (call) => [weights([2]).mul(call + 1)],
      }),
      { calls: 20 },
    );
    expect(stats.fallbacks).toEqual([]);
    expect(translations[19]).toBe(translations[10]);
  });

  it('walks an array of functions', () => {
    const { translations } = expectSameAsEager(() => {
      const layers = [relu, gelu];
      return {
        fn: (x: Tensor) => {
          for (const layer of layers) x = layer(x);
          return x;
        },
        args: () => [weights([3])],
      };
    });
    expect(translations).toEqual([1, 1, 1]);
  });

  it('takes a number inside an object for a constant until it differs', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, o: { n: number }) => x.mul(o.n),
        args: (call) => [values([2]), { n: [2, 2, 3, 3][call] }],
      }),
      { calls: 4 },
    );
    expect(translations).toEqual([1, 1, 2, 2]);
  });

  it('translates a branch on a number at most once per value', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => (n < 4 ? x.add(1) : x.sub(1)),
        args: (call) => [values([2]), call],
      }),
      { calls: 6 },
    );
    expect(translations[5]).toBeLessThanOrEqual(7);
  });
});

describe('guards', () => {
  const cases: Readonly<Record<string, readonly unknown[]>> = {
    'NaN is itself': [Number.NaN, Number.NaN, 1],
    '-0 is not 0': [0, -0, 0],
    'strings, numbers, null and undefined are told apart': ['1', 1, null, undefined, '1'],
    'BigInt is no number': [1n, 1, 1n, 2n],
    'booleans are no numbers': [true, 1, false, 0],
    'symbols pass through': [Symbol.iterator, Symbol.for('a'), Symbol.iterator],
    'objects and primitives are told apart': [{}, 5, [], 'x', () => 1, null],
  };

  for (const [name, given] of Object.entries(cases)) {
    it(`${name}, passed through and asked for its type`, () => {
      expectSameAsEager(
        () => ({
          fn: (x: Tensor, v: unknown) => [typeof v, v, x.add(1)],
          args: (call) => [values([2]), given[call % given.length]],
        }),
        { calls: given.length * 2 },
      );
    });

    it(`${name}, compared`, () => {
      expectSameAsEager(
        () => ({
          fn: (x: Tensor, v: unknown) =>
            v === 5 || v === null || v === undefined || v === 1n ? x.add(1) : x.sub(1),
          args: (call) => [values([2]), given[call % given.length]],
        }),
        { calls: given.length * 2 },
      );
    });

    it(`${name}, asked for its truth`, () => {
      expectSameAsEager(
        () => ({
          fn: (x: Tensor, v: unknown) => [v ? x.add(1) : x.sub(1), !v, v ?? 'none', v && 1],
          args: (call) => [values([2]), given[call % given.length]],
        }),
        { calls: given.length * 2 },
      );
    });

    it(`${name}, asked whether it is an array`, () => {
      expectSameAsEager(
        () => ({
          fn: (x: Tensor, v: unknown) => (Array.isArray(v) ? x.add(1) : [v].concat(v as []).length),
          args: (call) => [values([2]), given[call % given.length]],
        }),
        { calls: given.length * 2 },
      );
    });

    it(`${name}, divided by and spelled out`, () => {
      expectSameAsEager(
        () => ({
          fn: (v: number) => [1 / v, `${v}`, v + v, -v],
          args: (call) => [given[call % given.length]],
        }),
        { calls: given.length * 2 },
      );
    });
  }

  it('a read that throws is a miss', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, o?: { a: { n: number } }) => x.mul(o?.a?.n ?? 7),
        args: (call) => [values([2]), call === 0 ? { a: { n: 2 } } : call === 1 ? {} : undefined],
      }),
      { calls: 3 },
    );
    expect(stats.translations).toBe(3);
  });

  it('what requires a gradient, and whether gradients are recorded', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, w: Tensor) => x.mul(w).exp().sum(),
        args: (call) => [values([3]), call % 2 ? weights([3], 1) : values([3], 1)],
      }),
      {
        calls: 8,
        around: (body, call) => (call < 4 ? body() : call < 6 ? noGrad(body) : enableGrad(body)),
      },
    );
    expect(stats.translations).toBe(4);
  });

  it('a getter is asked as often as eager execution asks it', () => {
    expectSameAsEager(() => {
      const log: string[] = [];
      const o = {
        get factor() {
          log.push('factor');
          return 2;
        },
      };
      return {
        fn: (x: Tensor) => x.mul(o.factor).mul(o.factor),
        args: () => [values([2])],
        state: () => log,
      };
    });
  });

  it('a Proxy is asked as often as eager execution asks it', () => {
    expectSameAsEager(() => {
      const log: string[] = [];
      const o = new Proxy(
        { factor: 2, list: [1, 2] },
        {
          get(target, key, receiver) {
            log.push(`get ${String(key)}`);
            return Reflect.get(target, key, receiver);
          },
          getOwnPropertyDescriptor(target, key) {
            log.push(`describe ${String(key)}`);
            return Reflect.getOwnPropertyDescriptor(target, key);
          },
          getPrototypeOf(target) {
            log.push('prototype');
            return Reflect.getPrototypeOf(target);
          },
        },
      );
      const array = new Proxy([1, 2, 3], {
        get(target, key, receiver) {
          log.push(`array ${String(key)}`);
          return Reflect.get(target, key, receiver);
        },
      });
      return {
        fn: (x: Tensor, o: { factor: number; list: number[] }, a: number[]) => {
          x = x.mul(o.factor);
          for (const n of a) x = x.add(n);
          return [x, a[0], { ...o }, Array.isArray(a)];
        },
        args: () => [values([2]), o, array],
        state: () => log,
      };
    });
  });

  it('an accessor among the elements of an array is asked in its turn', () => {
    expectSameAsEager(() => {
      const log: string[] = [];
      const a = [1, 2];
      Object.defineProperty(a, 1, {
        get() {
          log.push('element');
          return 5;
        },
      });
      return {
        fn: (x: Tensor) => {
          for (const n of a) x = x.mul(n);
          return x;
        },
        args: () => [values([2])],
        state: () => log,
      };
    });
  });

  it('a subclass of Array iterates in its own way', () => {
    class Twice extends Array<number> {
      override *[Symbol.iterator](): ArrayIterator<number> {
        for (let i = 0; i < this.length; i++) {
          yield this[i]!;
          yield this[i]!;
        }
      }
    }
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, a: number[]) => {
          for (const n of a) x = x.add(n);
          return [x, a.slice(1).constructor.name, Array.isArray(a)];
        },
        args: (call) => [values([2]), call % 2 ? Twice.from([1, 2]) : [1, 2]],
      }),
      { calls: 4 },
    );
  });

  it('a disposed tensor raises the error of eager execution', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => x.mul(2).add(x),
        args: (call) => {
          const x = values([2]);
          if (call % 2) x.dispose();
          return [x];
        },
      }),
      { calls: 4 },
    );
  });
});
