/** Conformance 37–39, 41–48, 50: loops are unrolled, whatever breaks inside them. */

import { describe, expect, it } from 'vitest';
import { nn, noGrad, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

const tensors = (count: number) => Array.from({ length: count }, (_, i) => weights([2], i));

describe('a loop', () => {
  it('over an array, with a branch on a tensor (37)', () => {
    expectSameAsEager(
      () => ({
        fn: (list: Tensor[]) => {
          let sum = list[0]!.mul(0);
          for (const x of list) if (x.sum().gt(0).itemSync()) sum = sum.add(x);
          return sum;
        },
        args: () => [tensors(4)],
      }),
      { calls: 4 },
    );
  });

  it('over an array, with a branch on a number is unrolled (38)', () => {
    const { graphs, breaks } = expectSameAsEager(() => ({
      fn: (list: Tensor[], n: number) => {
        let sum = list[0]!;
        for (const [i, x] of [[0, list[1]!] as const, [1, list[2]!] as const]) {
          if (i < n) sum = sum.add(x);
        }
        for (let i = 0; i < list.length; i++) if (i % 2) sum = sum.mul(list[i]!);
        return sum;
      },
      args: () => [tensors(4), 1],
    }));
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('over the entries of a tensor, by a loop, a spread and a pattern', () => {
    const seen = expectSameAsEager(() => ({
      fn: (x: Tensor, w: Tensor) => {
        let h = w.mul(0);
        for (const row of x) h = h.add(row.mul(w)).tanh();
        const [first, ...rest] = x;
        const last = [...x].at(-1)!;
        for (const row of x) {
          h = h.add(row);
          if (row === first) continue;
          break;
        }
        return [h, first, rest, last.mul(2), Array.from(x.mul(3))];
      },
      // The second size is another number of iterations.
      args: (call) => [values([call < 2 ? 3 : 2, 4]), weights([4], 1)],
    }));
    expect(seen.breaks).toBe(0);
    expect(seen.translations).toEqual([1, 1, 2]);
  });

  it('over a scalar throws what it throws', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        for (const row of x) return row;
        return x;
      },
      args: () => [values([])],
    }));
  });

  it('over keys, values and entries of an object, a Map and a Set (39; natively so far)', () => {
    expectSameAsEager(() => ({
      fn: (o: Record<string, Tensor>, m: Map<string, Tensor>, s: Set<number>) => {
        let sum = o.a!;
        for (const key of Object.keys(o)) sum = sum.add(o[key]!);
        for (const x of Object.values(o)) sum = sum.mul(x);
        for (const [key, x] of Object.entries(o)) if (key !== 'a') sum = sum.sub(x);
        for (const [, x] of m) sum = sum.add(x);
        for (const n of s) sum = sum.mul(n);
        return sum;
      },
      args: () => {
        const [a, b, c] = tensors(3);
        return [{ a, b }, new Map([['c', c]]), new Set([2, 3])];
      },
    }));
  });

  it('that is left early closes its iterator once (41, 42)', () => {
    expectSameAsEager(() => {
      const log: string[] = [];
      function* generate(list: Tensor[]) {
        try {
          yield* list;
        } finally {
          log.push('closed');
        }
      }
      return {
        fn: (list: Tensor[]) => {
          let [sum, i] = [list[0]!.mul(0), 0];
          for (const x of list) {
            if (i++ === 1) continue;
            if (i === 4) break;
            sum = sum.add(x);
          }
          for (const x of generate(list)) {
            if (i++ === 5) continue;
            if (i === 7) break;
            sum = sum.mul(x);
          }
          for (const x of generate(list)) sum = sum.add(x);
          return sum;
        },
        args: () => [tensors(5)],
        state: () => log,
      };
    });
  });

  it('makes a temporary that is used after it (43), and may run no iteration at all (44)', () => {
    expectSameAsEager(
      () => ({
        fn: (list: Tensor[]) => {
          let last: Tensor | undefined;
          let turns = 0;
          for (const x of list) {
            last = x.mul(2);
            turns++;
          }
          return [last?.add(1), turns];
        },
        args: (call) => [tensors([2, 0, 1, 2, 0][call]!)],
      }),
      { calls: 5 },
    );
  });

  it('with a break in each iteration needs no fallback (45)', () => {
    const { stats } = expectSameAsEager(
      () => {
        const log: number[] = [];
        const push = log.push.bind(log);
        return {
          fn: (x: Tensor) => {
            for (let i = 0; i < 6; i++) {
              x = x.mul(i + 1).relu();
              push(i);
            }
            return x;
          },
          args: () => [weights([2])],
          state: () => log,
        };
      },
      { calls: 5 },
    );
    expect(stats.fallbacks).toEqual([]);
  });

  it('with a temporary named like a global (46)', () => {
    expectSameAsEager(() => ({
      fn: (list: Tensor[]) => {
        let sum = list[0]!;
        // biome-ignore lint/suspicious/noShadowRestrictedNames: that is the point.
        for (const Map of list) {
          // biome-ignore lint/suspicious/noShadowRestrictedNames: that is the point.
          const JSON = Map.mul(2);
          sum = sum.add(JSON);
        }
        return [sum, JSON.stringify([1])];
      },
      args: () => [tensors(3)],
    }));
  });

  it('over a list of layers (47)', () => {
    const { graphs, breaks } = expectSameAsEager(() => {
      const layers = [new nn.Linear(3, 3), new nn.ReLU(), new nn.Linear(3, 2)];
      const model = new nn.Sequential(...layers);
      noGrad(() => {
        model.parameters().forEach((p, i) => {
          p.copy_(values([...p.shape], i));
        });
      });
      return {
        fn: (x: Tensor) => {
          for (const layer of layers) x = layer.forward(x);
          return [x, model.forward(x.matmul(values3x3))];
        },
        args: () => [
          values([2, 3])
            .add(0)
            .matmul(values([3, 3], 4))
            .narrow(1, 0, 3),
        ],
        state: () => model.parameters(),
      };
    });
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('over a variable that was never set throws, or gives undefined, as it does eagerly (48)', () => {
    expectSameAsEager(
      () => ({
        fn: (list: Tensor[], fail: boolean) => {
          var last: Tensor;
          for (const x of list) last = x.mul(2);
          // Undefined at run time where the list is empty.
          const found = last!;
          return fail ? found.add(1) : found;
        },
        args: (call) => [tensors(call % 2), call > 1],
      }),
      { calls: 4 },
    );
  });

  it('inside a loop, with labels (50)', () => {
    const { graphs } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        outer: for (let i = 0; i < 4; i++) {
          for (let j = 0; j < 4; j++) {
            if (j === 2) continue outer;
            if (i === 3) break outer;
            x = x.add(i * 10 + j);
          }
        }
        do x = x.mul(2);
        while (x.rank > 1);
        return x;
      },
      args: () => [weights([2])],
    }));
    expect(graphs).toBe(1);
  });

  it('with a break in labelled and nested ones (50)', () => {
    expectSameAsEager(() => {
      const log: unknown[] = [];
      const push = log.push.bind(log);
      return {
        fn: (x: Tensor, list: number[]) => {
          outer: for (const i of list) {
            for (const j of list) {
              push([i, j]);
              if (j === 2) continue outer;
              if (i === 3) break outer;
              x = x.add(i * 10 + j);
            }
          }
          return x;
        },
        args: () => [weights([2]), [1, 2, 3]],
        state: () => log,
      };
    });
  });

  it('over an array that grows while it is walked', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor, list: number[]) => {
        const made = [1, 2];
        for (const n of made) {
          if (made.length < 5) made.push(n + 1);
          x = x.add(n);
        }
        for (const n of list) {
          if (list.length < 5) list.push(n * 2);
          x = x.mul(n);
        }
        return [x, made];
      },
      args: () => [weights([2]), [1, 2]],
    }));
  });

  it('with a closure per iteration over its own variable', () => {
    expectSameAsEager(() => {
      const log: unknown[] = [];
      const push = log.push.bind(log);
      return {
        fn: (x: Tensor) => {
          const steps: (() => Tensor)[] = [];
          for (let i = 1; i < 4; i++) {
            steps.push(() => x.mul(i));
            if (i === 2) push('half');
          }
          x = steps[0]!().add(steps[1]!());
          push('more');
          return [steps[2]!(), steps.map((s) => s())];
        },
        args: () => [weights([2])],
        state: () => log,
      };
    });
  });
});

const values3x3 = values([2, 3], 9);
