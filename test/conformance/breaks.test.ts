/** Conformance 20–34 and 36: where graphs break, and that execution goes on as if nothing had happened. */

import { describe, expect, it } from 'vitest';
import { nn, seed, type Tensor, tensor } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from '../trace/same-as-eager.ts';

const log: unknown[] = [];
const push = (...items: unknown[]): void => {
  log.push(...items);
};
/** Native code: its source can't be had. */
const note = push.bind(undefined);
const nativeNote = log.push.bind(log);

describe('conformance: breaks and resume', () => {
  it('20. a tensor decides an if: two graphs on each way, one break', () => {
    const { stats, breaks } = expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          let y = x.mul(2);
          if (y.mean().gt(0).itemSync()) y = y.add(1);
          return y.mul(3);
        },
        args: () => [tensor([1, 2, 3]).requiresGrad_()],
      }),
      { calls: 3 },
    );
    expect([stats.graphs, breaks]).toEqual([2, 1]);
  });

  it('21. a return inside both branches', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          if (x.sum().itemSync() > 0) return x.mul(2);
          return x.sub(1);
        },
        args: (call) => [weights([3], call)],
      }),
      { calls: 6 },
    );
  });

  it('22. a native call in the middle: two graphs, one break', () => {
    const { graphs, breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const y = x.exp();
        nativeNote('middle');
        return y.add(1);
      },
      args: () => [weights([3])],
    }));
    expect([graphs, breaks]).toEqual([2, 1]);
  });

  it('23. a break inside an expression: operands are kept, each call is made once', () => {
    const { breaks } = expectSameAsEager(() => {
      const calls: string[] = [];
      const g = (x: Tensor) => {
        calls.push('g');
        return x.mul(2);
      };
      const h = (x: Tensor) => {
        calls.push('h');
        nativeNote('h');
        return x.add(1);
      };
      const f = (a: Tensor, b: Tensor) => {
        calls.push('f');
        return a.sub(b);
      };
      return {
        fn: (x: Tensor, y: Tensor) => f(g(x), h(y)),
        args: () => [weights([2], 1), weights([2], 2)],
        state: () => calls,
      };
    });
    expect(breaks).toBe(1);
  });

  it('24. a second break after a resume', () => {
    const { graphs, breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        nativeNote(1);
        const z = y.add(1);
        nativeNote(2);
        return z.mul(y);
      },
      args: () => [weights([3])],
    }));
    expect([graphs, breaks]).toEqual([3, 2]);
  });

  it("25. a break in a nested call's argument costs one break, not one per level", () => {
    const { breaks } = expectSameAsEager(() => {
      const inner = (x: Tensor) => {
        nativeNote('inner');
        return x.mul(2);
      };
      const middle = (x: Tensor) => inner(x.add(1)).neg();
      return {
        fn: (x: Tensor) => x.add(middle(middle(x).mul(1))),
        args: () => [weights([2])],
      };
    });
    // Both calls break at one place.
    expect(breaks).toBe(1);
  });

  it('26. four breaking calls in a row: four breaks', () => {
    const { breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        nativeNote(1);
        nativeNote(2);
        nativeNote(3);
        nativeNote(4);
        return x.mul(2);
      },
      args: () => [weights([2])],
    }));
    expect(breaks).toBe(4);
  });

  it('27. a round trip through a typed array', () => {
    const { reasons } = expectSameAsEager(() => ({
      fn: (x: Tensor) => tensor(x.mul(2).dataSync()).add(1),
      args: (call) => [values([3], call)],
    }));
    expect(reasons).toContain('data-read');
  });

  it('28. a method that breaks, then a Linear: the Linear is compiled', () => {
    const { graphs } = expectSameAsEager(() => {
      seed(2);
      const layer = new nn.Linear(3, 2);
      const helper = {
        seen: 0,
        note() {
          nativeNote('method');
          return ++this.seen;
        },
      };
      return {
        fn: (x: Tensor) => {
          helper.note();
          return layer.forward(x);
        },
        args: () => [values([2, 3])],
        state: () => helper.seen,
      };
    });
    expect(graphs).toBe(1);
  });

  it('29. the negation of a value that was read', () => {
    const { breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor) => (!x.sum().itemSync() ? x.add(1) : x.mul(2)),
      args: (call) => [call % 2 ? tensor([0]) : tensor([1])],
    }));
    expect(breaks).toBe(1);
  });

  it('30. a loop over a counter is unrolled: no break', () => {
    const { graphs, breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        let i = 0;
        let y = x;
        while (i < 4) {
          y = y.mul(2).add(i);
          i++;
        }
        return y;
      },
      args: () => [weights([2])],
    }));
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('31. Math.ceil of a number needs no break; of an item, one', () => {
    const host = expectSameAsEager(() => ({
      fn: (x: Tensor, n: number) => x.mul(Math.ceil(n)),
      args: () => [weights([2]), 1.5],
    }));
    expect([host.graphs, host.breaks]).toEqual([1, 0]);
    const item = expectSameAsEager(() => ({
      fn: (x: Tensor) => x.mul(Math.ceil(x.sum().itemSync())),
      args: (call) => [weights([2], call)],
    }));
    expect(item.reasons[0]).toBe('data-read');
  });

  it('32. values of other kinds pass through', () => {
    const { breaks } = expectSameAsEager(() => {
      const things = { weak: new WeakRef({}), symbol: Symbol('s'), big: 10n, date: new Date(0) };
      return {
        fn: (x: Tensor) => ({ ...things, x: x.mul(2) }),
        args: () => [weights([2])],
      };
    });
    expect(breaks).toBe(0);
  });

  it('33. a failed inlining leaves the program as it was before', () => {
    const { graphs, captured } = expectSameAsEager(() => {
      const state = { uses: 0 };
      // The break is inside a getter, so the whole getter runs natively, once.
      const box = {
        get value() {
          state.uses += 1;
          nativeNote(state.uses);
          return state.uses;
        },
      };
      return {
        fn: (x: Tensor) => x.exp().add(box.value).mul(2),
        args: () => [weights([2])],
        state: () => state,
      };
    });
    expect(graphs).toBe(2);
    const ops = captured
      .programs()
      .flatMap(({ trace }) => trace.program.ops.map(({ op }) => op.name));
    expect(ops.filter((name) => name === 'exp')).toHaveLength(1);
  });

  it('34. a callee changes an array, then logs: applied once', () => {
    const { breaks } = expectSameAsEager(() => {
      const list: number[] = [];
      const callee = (x: Tensor) => {
        list.push(x.shape[0]!);
        nativeNote(list.length);
        return x.mul(2);
      };
      return {
        fn: (x: Tensor) => callee(callee(x)),
        args: () => [weights([2])],
        state: () => list,
      };
    });
    expect(breaks).toBe(1);
  });

  it('36. the same tensor twice; keyword objects', () => {
    expectSameAsEager(
      () => ({
        fn: (
          a: Tensor,
          b: Tensor,
          { scale = 1, shift }: { scale?: number; shift?: Tensor } = {},
        ) => {
          const y = a.mul(b).mul(scale);
          return shift ? y.add(shift) : y;
        },
        args: (call) => {
          const x = weights([2], 1);
          if (call % 3 === 0) return [x, x];
          return call % 3 === 1 ? [x, weights([2], 2), { scale: 2 }] : [x, x, { shift: x }];
        },
      }),
      { calls: 6 },
    );
    note();
  });
});
