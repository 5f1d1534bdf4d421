/** Conformance 51–64: what existed before is changed once, in order, as eager execution changes it. */

import { describe, expect, it } from 'vitest';
import { noGrad, type Tensor } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from '../trace/same-as-eager.ts';

const log: unknown[] = [];
const native = log.push.bind(log);

/** One graph, no break, and outside state as eager execution leaves it. */
function expectNoBreak(make: Parameters<typeof expectSameAsEager>[0], graphs = 1): void {
  const { stats } = expectSameAsEager(make);
  expect({ graphs: stats.graphs, breaks: stats.breaks, fallbacks: stats.fallbacks }).toEqual({
    graphs,
    breaks: [],
    fallbacks: [],
  });
}

let counter = 0;
let latest: Tensor | undefined;

describe('conformance: state', () => {
  it('51. objects: set, delete, nested alias', () => {
    const { breaks } = expectSameAsEager(() => {
      const inner: Record<string, unknown> = { a: 1, b: 2 };
      const outer = { inner, also: inner };
      return {
        fn: (x: Tensor) => {
          inner.c = x.mul(2);
          delete outer.also.a;
          inner.a = 5;
          delete inner.b;
          return ['a' in inner, 'b' in outer.inner, Object.keys(inner), outer.also === inner];
        },
        args: () => [values([2])],
        state: () => outer,
      };
    });
    expect(breaks).toBe(0);
  });

  it('52. an array is appended numbers and tensors: one entry however long it grows', () =>
    expectNoBreak(() => {
      const list: unknown[] = [];
      return {
        fn: (x: Tensor) => {
          list.push(x.shape[0]);
          list.push(x.mul(2), 'end');
          return x.add(1);
        },
        args: () => [values([2])],
        state: () => list,
      };
    }));

  it('53. splice, unshift, pop, length = 0, sort, reverse', () => {
    const { breaks } = expectSameAsEager(() => {
      const list: unknown[] = [3, 1, 2];
      const cleared: unknown[] = [1];
      return {
        fn: (x: Tensor) => {
          list.push(4);
          list.splice(1, 1, 'x', 'y');
          list.unshift(0);
          const last = list.pop();
          list.reverse();
          list.sort();
          cleared.length = 0;
          cleared[0] = list.length;
          list.length = 3;
          return [last, list.indexOf('x'), x.add(list.length), list.includes(0)];
        },
        args: () => [values([2])],
        state: () => [list, cleared],
      };
    });
    expect(breaks).toBe(0);
  });

  it('54. a push through an alias inside another array', () =>
    expectNoBreak(() => {
      const inner: Tensor[] = [];
      const outer = [inner, inner];
      return {
        fn: (x: Tensor) => {
          outer[0]!.push(x);
          outer[1]!.push(x.mul(2));
          return x.add(1);
        },
        args: () => [values([2])],
        state: () => outer,
      };
    }));

  it('55. reverse, then slice, then sum', () =>
    expectNoBreak(() => ({
      fn: (list: Tensor[]) => {
        list.reverse();
        return list.slice(1).reduce((sum, x) => sum.sub(x), list[0]!);
      },
      args: () => [[weights([2], 1), weights([2], 2), weights([2], 3)]],
    })));

  it('56. a property set and read, deleted: no break', () =>
    expectNoBreak(() => {
      const state: { x?: Tensor; n: number } = { n: 1 };
      return {
        fn: (x: Tensor) => {
          state.x = x.mul(2);
          const y = state.x.add(state.n);
          delete state.x;
          return [y, state.x];
        },
        args: () => [weights([2])],
        state: () => state,
      };
    }));

  it('57. a property set between two breaks', () => {
    expectSameAsEager(() => {
      const state = { n: 0 };
      return {
        fn: (x: Tensor) => {
          native(state.n);
          state.n = 5;
          const y = x.mul(state.n);
          native(state.n);
          state.n++;
          return y.add(state.n);
        },
        args: () => [weights([2])],
        state: () => state,
      };
    });
  });

  it('58, 59. module variables: number and tensor; of three writes the last one counts', () => {
    expectNoBreak(() => ({
      fn: (x: Tensor) => {
        counter = 1;
        counter += 2;
        counter = x.shape[0]!;
        latest = x.mul(counter);
        return latest.add(counter);
      },
      args: () => [weights([2])],
      state: () => [counter, latest],
    }));
  });

  it('60. two inlined increments of a global: 2, then 4', () => {
    counter = 0;
    const seen: number[] = [];
    expectNoBreak(() => {
      const increment = () => {
        counter++;
      };
      return {
        fn: (x: Tensor) => {
          increment();
          increment();
          return x.mul(2);
        },
        args: (call) => {
          // Both worlds share the variable: each starts from the same number.
          counter = 2 * call;
          return [weights([2])];
        },
        state: () => {
          seen.push(counter);
          return counter;
        },
      };
    });
    expect(new Set(seen)).toEqual(new Set([2, 4, 6]));
  });

  it('61. a constructor that changes its argument', () => {
    expectSameAsEager(() => {
      class Registered {
        readonly index: number;
        constructor(list: unknown[], x: Tensor) {
          this.index = list.push(x);
        }
      }
      return {
        fn: (list: unknown[], x: Tensor) => new Registered(list, x.mul(2)).index,
        args: () => [[], weights([2])],
      };
    });
  });

  it('62. writes to tensors in place: whole, strided, through an alias', () =>
    expectNoBreak(() => ({
      fn: (x: Tensor) => {
        const row = x.select(0, 0);
        x.add_(1);
        row.fill_(7);
        x.narrow(1, 1, 2).mul_(3);
        return x.sum();
      },
      args: () => [values([2, 3])],
    })));

  it('63. a write in place that gradients flow through', () =>
    expectNoBreak(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        y.copy_(x.mul(3));
        return y;
      },
      args: () => [weights([2])],
    })));

  it('64. in place inside if and loop, with and without a break', () => {
    const make = (breaks: boolean) => () => ({
      fn: (x: Tensor, n: number) =>
        noGrad(() => {
          for (let i = 0; i < n; i++) {
            if (i % 2) x.add_(i);
            else x.mul_(2);
            if (breaks) native(i);
          }
          return x.sum();
        }),
      args: () => [values([3]), 3],
    });
    expectNoBreak(make(false));
    expectSameAsEager(make(true));
  });

  it('Maps and Sets: read, written, listed', () =>
    expectNoBreak(() => {
      const map = new Map<unknown, unknown>([['a', 1]]);
      const set = new Set<unknown>(['x']);
      const key = {};
      return {
        fn: (x: Tensor) => {
          map.set('b', x.mul(2)).set(key, map.get('a'));
          map.delete('a');
          map.set('a', 1);
          set.add(key).add('x');
          return [map.has('a'), map.get(key), set.has(key), [...set].length, map.size];
        },
        args: () => [values([2])],
        state: () => [map, set],
      };
    }, 2));

  it('one array under two names is another entry than two arrays', () => {
    expectSameAsEager(
      () => ({
        fn: (a: Tensor[], b: Tensor[], x: Tensor) => {
          a.push(x);
          return b.length;
        },
        args: (call) => {
          const list = [values([1])];
          return [list, call % 2 ? list : [values([1])], values([2])];
        },
      }),
      { calls: 5 },
    );
    expectSameAsEager(
      () => ({
        fn: (a: { n: number }, b: { n: number }) => {
          a.n = 5;
          return b.n;
        },
        args: (call) => {
          const same = { n: 1 };
          return [same, call % 2 ? { n: 2 } : same];
        },
      }),
      { calls: 5 },
    );
  });
});
