/** Calls that differ in what a trace unrolls: lists and maps that grow. Entries are made for what returns. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';

type Pairs = [Tensor, Tensor][];

/** A cache that grows with each call, and starts anew after `length` of them. */
const caches: Record<string, (length: number) => World> = {
  'a list that a loop compares with another tensor': (length) => {
    const cache: Tensor[] = [];
    return {
      fn: (x: Tensor) => {
        let sum = x;
        for (const each of cache) if (each !== x) sum = sum.add(each);
        cache.push(x);
        return sum;
      },
      args: (call) => {
        if (call % length === 0) cache.length = 0;
        return [values([1, 3], call)];
      },
      state: () => cache,
    };
  },
  'pairs of keys and values, up to the last': (length) => {
    const cache: Pairs = [];
    return {
      fn: (k: Tensor, v: Tensor) => {
        cache.push([k, v]);
        const [keys, all]: [Tensor[], Tensor[]] = [[], []];
        for (const [key, value] of cache) {
          keys.push(key);
          all.push(value);
          if (key === k) break;
        }
        return k.matmul(cat(keys).t()).softmax(-1).matmul(cat(all));
      },
      args: (call) => {
        if (call % length === 0) cache.length = 0;
        return [values([1, 3], call), values([1, 3], call + 50)];
      },
      state: () => cache,
    };
  },
  'a map of names': (length) => {
    const known = new Map<string, Tensor>();
    return {
      fn: (x: Tensor, name: string) => {
        known.set(name, x.mul(2));
        return stack([...known.values()]);
      },
      args: (call) => {
        if (call % length === 0) known.clear();
        return [values([3], call), `name ${call % length}`];
      },
      state: () => known,
    };
  },
  'an object that gets keys': (length) => {
    const holder: { known: Record<string, Tensor> } = { known: {} };
    return {
      fn: (x: Tensor, name: string) => {
        holder.known[name] = x.mul(2);
        return stack(Object.values(holder.known));
      },
      args: (call) => {
        if (call % length === 0) holder.known = {};
        return [values([3], call), `name ${call % length}`];
      },
      state: () => holder,
    };
  },
};

const endless = Number.POSITIVE_INFINITY;

describe('what guards rely on changes with every call', () => {
  for (const [name, make] of Object.entries(caches)) {
    it(`${name}, and starts anew: each length is compiled once it has returned`, () => {
      const { stats, translations, captured } = expectSameAsEager(() => make(12), {
        calls: 84,
        dynamic: false,
      });
      expect(stats.translations).toBeGreaterThanOrEqual(12);
      // In the last rounds, every call runs a program.
      expect(translations.at(-1)).toBe(translations.at(-25));
      expect(captured.stats().graphRuns).toBeGreaterThan(50);
    });

    it(`${name}, without an end: no more than the first lengths are translated`, () => {
      const { stats } = expectSameAsEager(() => make(endless), { calls: 24, dynamic: false });
      expect(stats.translations).toBe(8);
      expect(stats.fallbacks).toHaveLength(1);
    });
  }

  it.each(['a map of names', 'an object that gets keys'])(
    '%s: if keys may change, what reads them runs between graphs, and no op eagerly',
    (name) => {
      const { stats } = expectSameAsEager(() => caches[name]!(endless), { calls: 24 });
      expect(stats.translations).toBeLessThanOrEqual(12);
      expect(stats.fallbacks).toEqual([]);
      expect(stats.kernels.eager).toBe(0);
    },
  );

  it('more states than are compiled at first, in random order, all become entries', () => {
    const f = toStatic((x: Tensor, mode: string) => x.mul(mode.length).add(mode.charCodeAt(0)), {
      dynamic: false,
    });
    const call = (i: number) => {
      const mode = String.fromCharCode(97 + i).repeat(i + 1);
      const x = values([3], i);
      expect(f(x, mode).dataSync()).toEqual(
        x
          .mul(i + 1)
          .add(97 + i)
          .dataSync(),
      );
    };
    for (let i = 0; i < 20 * 20; i++) call((i * 7) % 20);
    expect(f.stats().translations).toBe(20);
    const { graphRuns } = f.stats();
    for (let i = 0; i < 20; i++) call(i);
    expect(f.stats()).toMatchObject({ translations: 20, graphRuns: graphRuns + 20 });
  });

  it('what a later call finds different in a state that was seen is told apart as well', () => {
    const modes = Array.from({ length: 16 }, (_, i) => `mode ${i}`);
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, { mode, tail }: { mode: string; tail: string }) =>
          x.mul(mode.charCodeAt(5)).add(mode > 'mode 3' ? tail.charCodeAt(0) : 0),
        args: (call) => {
          const tail = call % 3 === 0 ? 'a' : `b${call % 5}`;
          return [values([2]), { mode: modes[(call * 5) % 16]!, tail }];
        },
      }),
      { calls: 160 },
    );
  });

  it('names the guards that failed for most entries', () => {
    const f = toStatic((x: Tensor, steps: { done: boolean }[]) =>
      steps.reduce((sum, { done }) => (done ? sum.neg() : sum.add(1)), x),
    );
    for (let call = 0; call < 16; call++) {
      f(
        values([4]),
        [0, 1, 2, 3].map((bit) => ({ done: Boolean(call & (1 << bit)) })),
      );
    }
    const [{ why } = { why: '' }] = f.stats().fallbacks;
    expect(why).toMatch(/changes with every call: 'steps\[0\]\.done' and/);
  });

  it('with fullGraph, each call is translated instead', () => {
    const cache: Tensor[] = [];
    const f = toStatic(
      (x: Tensor) => {
        let sum = x;
        for (const each of cache) if (each !== x) sum = sum.add(each);
        cache.push(x);
        return sum;
      },
      { fullGraph: true },
    );
    for (let i = 0; i < 14; i++) f(values([1, 2], i));
    expect(f.stats()).toMatchObject({ translations: 14, fallbacks: [] });
  });
});
