/** Conformance 37–50: loops are unrolled where the host decides, and resumed where a tensor does. */

import { describe, expect, it } from 'vitest';
import { nn, seed, type Tensor } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from '../trace/same-as-eager.ts';

const log: unknown[] = [];
const native = log.push.bind(log);
const batch = (call: number, count = 3) =>
  Array.from({ length: count }, (_, i) => weights([2], call * 7 + i));

/** One graph, no break. */
function expectOneGraph(
  fn: (...args: never[]) => unknown,
  args: (call: number) => unknown[],
): void {
  const { graphs, breaks, stats } = expectSameAsEager(() => ({ fn, args }));
  expect({ graphs, breaks, fallbacks: stats.fallbacks }).toEqual({
    graphs: 1,
    breaks: 0,
    fallbacks: [],
  });
}

describe('conformance: loops', () => {
  it('37. over an array, with an if on a tensor', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (xs: Tensor[]) => {
          let sum = xs[0]!;
          for (const x of xs) sum = x.sum().itemSync() > 0 ? sum.add(x) : sum.sub(x);
          return sum;
        },
        args: (call) => [batch(call)],
      }),
      { calls: 6 },
    );
    expect(stats.fallbacks).toEqual([]);
  });

  it('38. over an array, with an if of the host: unrolled', () =>
    expectOneGraph(
      (xs: Tensor[]) => {
        let sum = xs[0]!;
        for (let i = 0; i < xs.length; i++) sum = i % 2 ? sum.add(xs[i]!) : sum.mul(xs[i]!);
        return sum;
      },
      (call) => [batch(call)],
    ));

  it('39. over keys, values and entries of objects, Maps and Sets', () =>
    expectOneGraph(
      (x: Tensor, scales: Record<string, number>, map: Map<string, number>, set: Set<number>) => {
        let y = x;
        const names: string[] = [];
        for (const key in scales) names.push(key);
        for (const key of Object.keys(scales)) y = y.mul(scales[key]!);
        for (const value of Object.values(scales)) y = y.add(value);
        for (const [key, value] of Object.entries(scales)) y = y.add(key.length * value);
        for (const [key, value] of map) y = y.mul(key.length + value);
        for (const value of map.values()) y = y.sub(value);
        for (const key of map.keys()) names.push(key);
        for (const value of set) y = y.add(value);
        return [y, names, map.size, set.has(5)];
      },
      () => [weights([2]), { a: 2, bb: 3 }, new Map([['k', 1]]), new Set([4, 5])],
    ));

  it('40. over a generator', () =>
    expectOneGraph(
      (xs: Tensor[]) => {
        function* doubled() {
          for (const x of xs) yield x.mul(2);
        }
        let sum = xs[0]!;
        for (const x of doubled()) sum = sum.add(x);
        return sum;
      },
      (call) => [batch(call)],
    ));

  it('41. break in loops over arrays and iterators, which are closed once', () => {
    const { stats } = expectSameAsEager(() => {
      const closed: string[] = [];
      class Countdown {
        constructor(readonly from: number) {}
        [Symbol.iterator]() {
          let n = this.from;
          return {
            next: () => (n > 0 ? { value: n--, done: false } : { value: undefined, done: true }),
            return: () => {
              closed.push('returned');
              return { value: undefined, done: true };
            },
          };
        }
      }
      const countdown = new Countdown(4);
      return {
        fn: (x: Tensor, xs: Tensor[]) => {
          let y = x;
          for (const n of countdown) {
            if (n === 2) break;
            y = y.mul(n as number);
          }
          for (const z of xs) {
            if (z === xs[2]) break;
            y = y.add(z);
          }
          return y;
        },
        args: (call) => [weights([2], call), batch(call)],
        state: () => closed,
      };
    });
    expect(stats.fallbacks).toEqual([]);
  });

  it('42. continue likewise', () =>
    expectOneGraph(
      (xs: Tensor[]) => {
        let sum = xs[0]!;
        for (const [i, x] of xs.entries()) {
          if (i === 1) continue;
          sum = sum.add(x);
        }
        return sum;
      },
      (call) => [batch(call)],
    ));

  it('43, 44. a temporary of the loop used after it; no turn at all', () => {
    expectSameAsEager(
      () => ({
        fn: (xs: Tensor[], start: Tensor) => {
          let last: Tensor | undefined;
          for (const x of xs) last = x.mul(2);
          return last ? last.add(start) : start;
        },
        args: (call) => [batch(call, call % 2 ? 2 : 0), weights([2], 9)],
      }),
      { calls: 4 },
    );
  });

  it('45. a break in each turn needs no fallback', () => {
    const { stats } = expectSameAsEager(() => ({
      fn: (xs: Tensor[]) => {
        let sum = xs[0]!;
        for (const x of xs) {
          sum = sum.add(x.mul(2));
          native('turn');
        }
        return sum;
      },
      args: (call) => [batch(call)],
    }));
    expect(stats.fallbacks).toEqual([]);
  });

  it('46. a temporary named like a global', () =>
    expectOneGraph(
      (xs: Tensor[]) => {
        let performance = xs[0]!;
        for (const structuredClone of xs) performance = performance.add(structuredClone);
        return performance;
      },
      (call) => [batch(call)],
    ));

  it('47. a list of layers', () => {
    const { graphs, breaks } = expectSameAsEager(() => {
      seed(4);
      const layers = [new nn.Linear(2, 3), new nn.ReLU(), new nn.Linear(3, 2)];
      return {
        fn: (x: Tensor) => layers.reduce((h, layer) => layer.forward(h), x),
        args: (call) => [weights([2, 2], call)],
        state: () => layers,
      };
    });
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('48. a variable that is undefined after the loop', () => {
    expectSameAsEager(() => ({
      fn: (xs: Tensor[]) => {
        const early = () => later;
        for (const x of xs) x.mul(2);
        const seen = early();
        const later = 1;
        return [seen, later];
      },
      args: () => [[]],
    }));
  });

  it('49. array methods with callbacks, also with a break inside', () => {
    expectOneGraph(
      (xs: Tensor[]) => {
        const doubled = xs.map((x, i) => x.mul(i + 1)).filter((_, i) => i !== 1);
        const names = doubled.flatMap((x) => [x.rank, x.shape.length]);
        const sum = doubled.reduce((a, b) => a.add(b));
        const right = xs.reduceRight((a, b) => a.sub(b), xs[0]!);
        const found = xs.find((x) => x.rank === 1)!;
        const any = xs.some((x) => x.rank > 3) || xs.every((x) => x.rank === 1);
        const order = [3, 1, 2].sort((a, b) => b - a);
        const listed = Array.from({ length: 2 }, (_, i) => xs[i]!.add(i));
        xs.forEach((x) => {
          names.push(x.numel());
        });
        return [
          sum,
          right,
          found,
          any,
          order,
          names,
          listed,
          [1, [2]].flat(),
          xs.findIndex(Boolean),
        ];
      },
      (call) => [batch(call)],
    );
    const { stats } = expectSameAsEager(() => ({
      fn: (xs: Tensor[]) =>
        xs
          .map((x, i) => {
            native(i);
            return x.mul(2);
          })
          .filter((x) => x.sum().itemSync() > 0),
      args: (call) => [batch(call)],
    }));
    expect(stats.fallbacks).toEqual([]);
  });

  it('49. a comparator is called in the order of the language', () => {
    expectSameAsEager(
      () => {
        const compared: string[] = [];
        return {
          fn: (x: Tensor, items: { key: number }[]) => {
            items.sort((a, b) => {
              compared.push(`${a.key},${b.key}`);
              return a.key - b.key;
            });
            return [x.mul(items[0]!.key), items.map(({ key }) => key)];
          },
          args: (call) => [
            values([2]),
            Array.from({ length: call * 3 }, (_, i) => ({ key: (i * 7 + call * 3) % 11 })),
          ],
          state: () => compared,
        };
      },
      { calls: 6 },
    );
  });

  it('50. nested loops, labelled break and continue', () =>
    expectOneGraph(
      (xs: Tensor[]) => {
        let sum = xs[0]!;
        outer: for (let i = 0; i < 3; i++) {
          for (let j = 0; j < 3; j++) {
            if (j === 2) continue outer;
            if (i === 2) break outer;
            sum = sum.add(xs[j]!.mul(i));
          }
        }
        return sum;
      },
      (call) => [batch(call)],
    ));
});
