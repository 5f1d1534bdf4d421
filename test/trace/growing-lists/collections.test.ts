/** Maps and Sets that get an entry in every call: one trace serves every number of entries. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';
import { row } from './pushed.ts';

type Cache = Map<number, Tensor>;

function cached(body: (cache: Cache, x: Tensor, i: number) => unknown): () => World {
  return () => {
    const cache: Cache = new Map();
    return {
      fn: (x: Tensor, i: number) => body(cache, x, i),
      args: (call) => [row(call), call],
      state: () => cache,
    };
  };
}

const programs: Record<string, () => World> = {
  'set by a number': cached((cache, x, i) => {
    cache.set(i, x.mul(2));
    return x;
  }),
  'set by the size': cached((cache, x) => {
    cache.set(cache.size, x.mul(2));
    return x.add(cache.size);
  }),
  'set, then got': cached((cache, x, i) => {
    cache.set(i, x.mul(2));
    return cache.get(i)!.add(1);
  }),
  'the entry before': cached((cache, x, i) => {
    const before = cache.get(i - 1);
    cache.set(i, x.mul(2));
    return before ? before.add(x) : x;
  }),
  'asked for before it is set': cached((cache, x, i) => {
    if (!cache.has(i)) cache.set(i, x.mul(2));
    return [cache.get(i), cache.has(i + 1)];
  }),
  'joined values': cached((cache, x, i) => {
    cache.set(i, x.mul(2));
    return cat([...cache.values()]);
  }),
  'values joined before the next one': cached((cache, x, i) => {
    const sum = cache.size > 0 ? cat([x, ...cache.values()]).sum() : x.sum();
    cache.set(i, x.mul(2));
    return sum;
  }),
  'Array.from': cached((cache, x, i) => {
    cache.set(i, x.mul(2));
    return [stack(Array.from(cache.values())), [...cache.values(), x]];
  }),
  'a mean': cached((cache, x, i) => {
    cache.set(i, x.mul(2));
    let sum = x;
    for (const value of cache.values()) sum = sum.add(value);
    return sum.div(cache.size);
  }),
  'entries with their keys': cached((cache, x, i) => {
    cache.set(i, x.mul(2));
    let sum = x;
    for (const [key, value] of cache) sum = sum.mul(0.5).add(value.mul(key));
    return sum;
  }),
  'entries before the next one, into an array': cached((cache, x, i) => {
    const all = [x];
    for (const [key, value] of cache.entries()) all.push(value.add(key));
    cache.set(i, cat(all).mean(0, { keepDim: true }));
    return all.length;
  }),
  forEach: cached((cache, x, i) => {
    cache.set(i, x.mul(2));
    let sum = x;
    cache.forEach((value, key) => {
      sum = sum.mul(0.5).add(value).add(key);
    });
    return sum;
  }),
  'a private field': () => {
    class Memory {
      readonly #cache: Cache = new Map();
      add(x: Tensor, i: number): Tensor {
        this.#cache.set(i, x);
        return cat([...this.#cache.values()]).mean(0, { keepDim: true });
      }
      get all(): unknown {
        return this.#cache;
      }
    }
    const memory = new Memory();
    return {
      fn: (x: Tensor, i: number) => memory.add(x, i),
      args: (call) => [row(call), call],
      state: () => memory.all,
    };
  },
  'objects with gradients': () => {
    const cache = new Map<string, { readonly k: Tensor; readonly w: Tensor }>();
    const w = weights([3, 3]);
    return {
      fn: (x: Tensor) => {
        let h = x;
        for (const { k, w: own } of cache.values()) h = h.matmul(own).mul(k).matmul(w).tanh();
        return h.sum();
      },
      args: (call) => {
        cache.set(`call ${call}`, { k: row(call), w: weights([3, 3], call) });
        return [row(call)];
      },
      state: () => [cache, w],
    };
  },
  'a Set of tensors': () => {
    const seen = new Set<Tensor>();
    return {
      fn: (x: Tensor) => {
        seen.add(x.mul(2));
        let sum = x;
        for (const each of seen) sum = sum.mul(0.5).add(each);
        return [sum, cat([...seen]), seen.size];
      },
      args: (call) => [row(call)],
      state: () => seen,
    };
  },
};

describe('a Map or Set that grows', () => {
  describe.each([{}, { fullGraph: true }, { capture: 'auto' as const }])('%o', (options) => {
    it.each(Object.entries(programs))('%s', (_, make) => {
      const { stats } = expectSameAsEager(make, { calls: 8, ...options });
      expect(stats.translations).toBeLessThanOrEqual(4);
      expect(stats.fallbacks).toEqual([]);
    });
  });

  it('joins entries that an outside call has added and deleted', () => {
    const make = (): World => {
      const cache: Cache = new Map();
      return {
        fn: (x: Tensor) => {
          let sum = x;
          for (const value of cache.values()) sum = sum.mul(0.5).add(value);
          return [sum, cache.size];
        },
        args: (call) => {
          if (call % 3 === 2) cache.delete(call - 2);
          else for (let i = 0; i < call; i++) cache.set(call * 10 + i, row(i));
          return [row(call)];
        },
        state: () => cache,
      };
    };
    const { stats } = expectSameAsEager(make, { calls: 9 });
    expect(stats.translations).toBeLessThanOrEqual(4);
  });
});

/** Keys that may be one, in another call. */
describe('keys that are numbers', () => {
  const call =
    (body: (cache: Map<unknown, unknown>, x: Tensor, a: number, b: number) => unknown) =>
    (pairs: readonly (readonly [number, number])[]) => {
      const make = (): World => {
        const cache = new Map<unknown, unknown>([
          [0, 'zero'],
          [1, 'one'],
        ]);
        return {
          fn: (x: Tensor, a: number, b: number) => body(cache, x, a, b),
          args: (i) => [row(i), ...pairs[i]!],
          state: () => cache,
        };
      };
      expectSameAsEager(make, { calls: pairs.length });
    };
  const pairs = [
    [0, 1],
    [1, 2],
    [2, 2],
    [3, 1],
    [1, 3],
    [-0, 0],
    [2, -0],
    [Number.NaN, Number.NaN],
    [5, Number.NaN],
    [0.5, 0.5],
  ] as const;

  it.each([
    [
      'two are set',
      call((cache, x, a, b) => {
        cache.set(a, x.mul(2));
        cache.set(b, x.mul(3));
        return [cache.get(a), cache.get(b), cache.size];
      }),
    ],
    [
      'one is set, one is deleted',
      call((cache, x, a, b) => {
        cache.set(a, x.mul(2));
        return [cache.delete(b), cache.has(a), cache.get(a), [...cache.keys()]];
      }),
    ],
    [
      'one is set where another is known',
      call((cache, x, a) => {
        cache.set(a, x.mul(2));
        return [cache.get(1), cache.get(0), [...cache.entries()].length];
      }),
    ],
    [
      'in a Map made inside, whose keys are returned',
      call((_, x, a, b) => {
        const made = new Map([[a, x.mul(2)]]);
        made.set(b, x.mul(3));
        return [made, [...made.keys()].map((key) => 1 / key), made.size];
      }),
    ],
    [
      'in a Set',
      call((cache, x, a, b) => {
        const seen = new Set([a, b]);
        return [x.mul(seen.size), seen.has(2), seen, cache.get(a + 1)];
      }),
    ],
  ])('%s', (_, run) => {
    run(pairs);
    run([...pairs].reverse());
  });

  it('an iteration does not visit an entry again whose value it replaces', () => {
    const make = (): World => {
      const cache = new Map([
        [0, row(0)],
        [1, row(1)],
      ]);
      return {
        fn: (x: Tensor) => {
          const seen: Tensor[] = [];
          for (const value of cache.values()) {
            seen.push(value);
            cache.set(0, x);
          }
          return seen;
        },
        args: (i) => [row(i + 2)],
        state: () => cache,
      };
    };
    expectSameAsEager(make);
  });
});
