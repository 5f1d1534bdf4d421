/** Conformance 20–34, 36: whatever is not understood runs natively at its place, and tracing goes on. */

import { describe, expect, it } from 'vitest';
import { nn, noGrad, type Tensor, tensor } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';

/** A log whose writer has no source: native code in the middle of a function. */
function nativeLog() {
  const entries: unknown[] = [];
  return { entries, log: entries.push.bind(entries) as (...values: unknown[]) => number };
}

describe('a graph break', () => {
  it('at a branch on the values of a tensor (20)', () => {
    const { graphs, breaks, reasons } = expectSameAsEager(() => ({
      fn: (x: Tensor, y: Tensor) => {
        if (x.mean().gt(0).itemSync()) y = y.mul(2);
        return y.add(x);
      },
      args: () => [values([3]).add(1), weights([3])],
    }));
    expect(graphs).toBe(2);
    expect(breaks).toBe(1);
    expect(reasons).toEqual(['data-read']);
  });

  it('with a return in both branches (21)', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          if (x.sum().itemSync() > 0) return x.mul(2);
          return x.neg();
        },
        args: (call) => [weights([3]).add(call % 2 ? 5 : -5)],
      }),
      { calls: 4 },
    );
  });

  it('at native code in the middle (22)', () => {
    const { graphs, breaks, stats } = expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      return {
        fn: (x: Tensor) => {
          const y = x.mul(2);
          log('between', y.shape[0]);
          return y.add(1).relu();
        },
        args: () => [weights([3])],
        state: () => entries,
      };
    });
    expect([graphs, breaks]).toEqual([2, 1]);
    expect(stats.breaks[0]!.detail).toBe('log() is native code');
    expect(stats.breaks[0]!.at).toMatchObject({ line: expect.any(Number) });
  });

  it('names the call as the user wrote it', () => {
    const { stats } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        process.uptime();
        return y.add(1);
      },
      args: () => [values([3])],
    }));
    expect(stats.breaks[0]!.detail).toBe('process.uptime() is native code');
  });

  it('inside an expression: operands are kept, each call is made once (23)', () => {
    const { breaks } = expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      const g = (x: Tensor) => {
        return x.mul(3);
      };
      const h = (x: Tensor) => {
        log('h');
        return x.add(1);
      };
      return {
        fn: (x: Tensor, y: Tensor) =>
          g(x)
            .add(h(y))
            .mul(h(x.mul(2))),
        args: () => [weights([3]), weights([3], 1)],
        state: () => entries,
      };
    });
    expect(breaks).toBe(1);
  });

  it('a second time after a resume (24), four in a row (26)', () => {
    const { breaks } = expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      return {
        fn: (x: Tensor) => {
          const a = x.mul(2);
          log(1);
          const b = a.add(x);
          log(2);
          log(3);
          log(4);
          return a.mul(b);
        },
        args: () => [weights([3])],
        state: () => entries,
      };
    });
    expect(breaks).toBe(4);
  });

  it('in a nested call, in an argument of another call (25)', () => {
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      const deepest = (x: Tensor, name: string) => {
        const y = x.exp();
        log(name);
        return y.add(x);
      };
      const middle = (x: Tensor) => deepest(deepest(x, 'inner').mul(2), 'outer').sub(x);
      const combine = (a: Tensor, b: Tensor, c: Tensor) => a.mul(b).add(c);
      return {
        fn: (x: Tensor) => combine(x.relu(), middle(x.mul(0.5)), middle(x)),
        args: () => [weights([3])],
        state: () => entries,
      };
    });
  });

  it('at a round trip through a typed array (27)', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const data = x.mul(2).dataSync();
        return tensor(data).add(x);
      },
      args: () => [weights([3])],
    }));
  });

  it('at a method that breaks, before a Linear that is compiled (28)', () => {
    const { graphs } = expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      const linear = new nn.Linear(3, 2);
      noGrad(() => linear.weight.copy_(values([2, 3], 5)));
      noGrad(() => linear.bias?.copy_(values([2], 6)));
      const model = {
        linear,
        prepare(x: Tensor) {
          log('prepare');
          return x.mul(2);
        },
      };
      return {
        fn: (x: Tensor) => model.linear.forward(model.prepare(x)),
        args: () => [values([2, 3])],
        state: () => [entries, model.linear.weight],
      };
    });
    expect(graphs).toBe(1);
  });

  it('at the negation of a value that was read (29)', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => (!x.sum().itemSync() ? x.add(1) : x.sub(1)),
        args: (call) => [values([3]).mul(call % 2)],
      }),
      { calls: 4 },
    );
  });

  it('is not needed for a loop over a counter (30)', () => {
    const { graphs, breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        let i = 0;
        while (i < 5) {
          x = x.add(i);
          i++;
        }
        return x;
      },
      args: () => [weights([3])],
    }));
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('is not needed for Math.ceil of a number, and happens at the item (31)', () => {
    const { breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor, n: number) => x.mul(Math.ceil(n)).mul(Math.ceil(x.sum().itemSync())),
      args: (call) => [weights([3]).add(call), 1.5],
    }));
    expect(breaks).toBe(1);
  });

  it('lets values of every kind pass (32)', () => {
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      const weak = new WeakRef({ a: 1 });
      const symbol = Symbol('s');
      return {
        fn: (x: Tensor) => {
          const local = [weak, symbol, 12n, undefined, null, Number.NaN, -0, /a/] as const;
          log('between');
          return [...local, x.add(1), weak === local[0], symbol === local[1]];
        },
        args: () => [values([2])],
        state: () => entries,
      };
    });
  });

  it('leaves nothing of a call that could not be inlined in the program (33)', () => {
    const { stats } = expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      const failing = (x: Tensor) => {
        const used = x.mul(2);
        log('in the callee');
        return used;
      };
      return {
        fn: (x: Tensor) => x.add(1).mul(failing(x)),
        args: () => [weights([2])],
        state: () => entries,
      };
    });
    // add, mul(2) before the break; mul after it: nothing twice.
    expect(stats.ops).toBe(3);
  });

  it('applies what a callee wrote once (34)', () => {
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      const list: unknown[] = [];
      const note = (x: Tensor) => {
        list.push(1);
        log('pushed');
        return x.mul(list.length);
      };
      return {
        fn: (x: Tensor) => note(note(x)),
        args: () => [weights([2])],
        state: () => [entries, list],
      };
    });
  });

  it('with the same tensor twice, and options in an object (36)', () => {
    const { translations } = expectSameAsEager(() => ({
      fn: (x: Tensor, y: Tensor, { dim, keepDim = false }: { dim: number; keepDim?: boolean }) =>
        x.mul(y).mean([dim], { keepDim }).add(x.mul(y).sum(dim, { keepDim })),
      args: () => {
        const x = weights([3, 2]);
        return [x, x, { dim: 1 }];
      },
    }));
    expect(translations).toEqual([1, 1, 1]);
  });

  it('in the middle of an iteration of another kind keeps the iterator', () => {
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      function* numbers(): Generator<number> {
        try {
          for (let i = 1; ; i++) yield i;
        } finally {
          log('closed');
        }
      }
      return {
        fn: (x: Tensor) => {
          for (const n of numbers()) {
            x = x.mul(n);
            log(n);
            if (n >= 3) break;
          }
          return x;
        },
        args: () => [weights([2])],
        state: () => entries,
      };
    });
  });

  it('and an exception after it closes the iterators of all frames, innermost first', () => {
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      const closing = (name: string) => ({
        [Symbol.iterator]: () => ({
          next: (): IteratorResult<number, number> => ({ done: false, value: 1 }),
          return() {
            log(`close ${name}`);
            return { done: true as const, value: 0 };
          },
        }),
      });
      const inner = (x: Tensor) => {
        for (const n of closing('inner')) {
          x = x.mul(n + 1);
          throw new RangeError(`at ${x.shape[0]}`);
        }
        return x;
      };
      return {
        fn: (x: Tensor) => {
          for (const n of closing('outer')) x = inner(x.add(n));
          return x;
        },
        args: () => [weights([2])],
        state: () => entries,
      };
    });
  });

  it('in place on a tensor that two sources lead to', () => {
    expectSameAsEager(() => {
      const holder = { x: values([3]) };
      return {
        fn: (x: Tensor) => {
          const before = holder.x.mul(2);
          x.add_(1);
          return [before, holder.x.mul(2), x === holder.x];
        },
        args: () => [holder.x],
        state: () => holder,
      };
    });
  });

  it('at a change of an object that another source leads to', () => {
    expectSameAsEager(() => {
      const shared = { n: 1 };
      const outer = { inner: shared };
      return {
        fn: (x: Tensor, o: { n: number }) => {
          const before = x.mul(outer.inner.n);
          o.n++;
          return before.add(outer.inner.n).mul(o.n);
        },
        args: () => [weights([2]), shared],
        state: () => outer,
      };
    });
  });

  it('keeps arguments that were not read yet, rest parameters among them', () => {
    expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        return {
          fn: (x: Tensor, n = log('default'), ...rest: number[]) => {
            for (const r of rest) x = x.add(r);
            return x.mul(n);
          },
          args: (call) => [values([2]), ...[[], [2], [undefined, 3], [2, 3, 4]][call % 4]!],
          state: () => entries,
        };
      },
      { calls: 8 },
    );
  });

  it('raises the error of an op where eager execution raises it', () => {
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      return {
        fn: (x: Tensor, y: Tensor) => {
          log('before');
          const z = x.matmul(y);
          log('not reached');
          return z;
        },
        args: () => [values([2, 3]), values([2, 3])],
        state: () => entries,
      };
    });
  });

  it('frees tensors between subgraphs, and none that somebody else has', () => {
    expectSameAsEager(() => {
      const kept: Tensor[] = [];
      const { entries, log } = nativeLog();
      return {
        fn: (x: Tensor) => {
          const a = x.mul(2);
          kept.push(a);
          const list = [x.add(3)];
          const f = () => list[0]!.mul(a);
          log(1);
          const b = a.add(1);
          log(2);
          const hidden = { b };
          log(3);
          return [f(), hidden];
        },
        args: () => [weights([2])],
        state: () => [kept, entries.length],
      };
    });
  });
});
