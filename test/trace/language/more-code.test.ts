/** More forms of code, each against eager execution; the conformance catalogue has no number for them. */

import { expect, it } from 'vitest';
import { noGrad, type Tensor, tidy, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

declare const watched: number;

const nativeLog = () => {
  const entries: unknown[] = [];
  return { entries, log: entries.push.bind(entries) as (...v: unknown[]) => number };
};
it('non-leaf used inside and outside', () => {
  expectSameAsEager(() => {
    const { entries, log } = nativeLog();
    return {
      fn: (w: Tensor) => {
        const y = w.exp();
        log(0);
        const a = y.mul(w).add(y.tanh());
        log(1);
        return [a, y, y.mul(a).add(y)];
      },
      args: () => [weights([7], 3)],
      state: () => entries,
    };
  });
});
it('tensor thrown', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor) => {
      const y = x.mul(2);
      throw y;
    },
    args: () => [values([2])],
  }));
});
it('methods of arrays that change nothing', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor, a: number[]) => {
      const b = a.concat(a, 3).slice(1);
      return [x.mul(b.at(-1)!), b, a.at(0), b.pop(), a.slice(-1)];
    },
    args: () => [values([2]), [1, 2]],
  }));
});
it('switch and conditional', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor, k: string) => {
      switch (k) {
        // @ts-expect-error: that is the point.
        // biome-ignore lint/suspicious/noFallthroughSwitchClause: that is the point.
        case 'a':
          x = x.add(1);
        case 'b':
          x = x.mul(2);
          break;
        default:
          x = x.neg();
      }
      return k === 'c' ? x : x.exp();
    },
    args: (c) => [weights([2]), ['a', 'b', 'c'][c]],
  }));
});
it('object methods and this', () => {
  expectSameAsEager(() => {
    const { entries, log } = nativeLog();
    return {
      fn: (x: Tensor) => {
        const o = {
          n: 2,
          run(y: Tensor) {
            log('in');
            return y.mul(this.n);
          },
          arrow: (y: Tensor) => y.add(1),
          [`k${1}`]: (y: Tensor) => y,
        };
        return [o.run(x), o.arrow(x), o, o.k1];
      },
      args: () => [weights([2])],
      state: () => entries,
    };
  });
});
it('destructuring a thrown value from undefined', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor, o: { a: number } | undefined) => {
      const { a } = o!;
      return x.mul(a);
    },
    args: (c) => [values([2]), c === 1 ? undefined : { a: 2 }],
  }));
});
it('a global that is a getter is asked as often as eager execution asks it', () => {
  const log: string[] = [];
  const getter = { configurable: true, get: () => log.push('asked') };
  Object.defineProperty(globalThis, 'watched', getter);
  expectSameAsEager(() => {
    const first = log.length;
    return {
      fn: (x: Tensor) =>
        x
          .mul(2)
          .add(watched > 0 ? 1 : 2)
          .mul(watched > 0 ? 3 : 4),
      args: () => [values([2])],
      state: () => log.length - first > 0,
    };
  });
  // Three calls in each world, two reads in each.
  expect(log).toHaveLength(12);
  Reflect.deleteProperty(globalThis, 'watched');
});
it('tensor methods borrowed', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor) => {
      const { mul } = x;
      const add = x.add;
      return [mul.call(x, 2), add.apply(x, [1]), Math.max(...x.shape), Reflect.apply(mul, x, [3])];
    },
    args: () => [values([2])],
  }));
});
it('in place on an intermediate after a break with views', () => {
  expectSameAsEager(() => {
    const { entries, log } = nativeLog();
    return {
      fn: (x: Tensor) => {
        const y = x.mul(2);
        const row = y.select(0, 0);
        const col = y.transpose(0, 1);
        log(1);
        row.fill_(9);
        log(2);
        return [y, row, col, col.add(1)];
      },
      args: () => [values([2, 3])],
      state: () => entries,
    };
  });
});
it('reads shape of strided expands', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor) => {
      const e = x.expand([3, 2]);
      return [e, e.contiguous(), e.isContiguous, e.sum(0), e.reshape([6])];
    },
    args: () => [weights([1, 2])],
  }));
});
it('noGrad inside', () => {
  expectSameAsEager(() => ({
    fn: (x: Tensor) => {
      const y = noGrad(() => x.mul(2));
      const z = tidy(() => x.mul(3).add(y));
      return [y, z.mul(y)];
    },
    args: () => [weights([2])],
  }));
});
it('symbols as keys', () => {
  const k = Symbol('k');
  expectSameAsEager(() => ({
    fn: (x: Tensor, o: Record<symbol, number>) => {
      o[k] = 2;
      const p = { [k]: x.mul(o[k]!) };
      return [p, p[k]];
    },
    args: () => [weights([2]), {}],
  }));
});
it('an argument changed by a closure that breaks', () => {
  expectSameAsEager(() => {
    const { entries, log } = nativeLog();
    return {
      fn: (x: Tensor, o: { x: Tensor }) => {
        const f = () => {
          o.x = o.x.mul(2);
          log(1);
          return o.x;
        };
        return [f().add(o.x), f().sub(x)];
      },
      args: () => [weights([2]), { x: weights([2], 4) }],
      state: () => entries,
    };
  });
});
it('nested static with breaks, shared by two callers', () => {
  expectSameAsEager(() => {
    const { entries, log } = nativeLog();
    const inner = toStatic((x: Tensor) => {
      const y = x.exp();
      log('i');
      return y.mul(x);
    });
    return {
      fn: (x: Tensor) => {
        const a = inner(x);
        log('o');
        return inner(a).add(a);
      },
      args: () => [weights([2])],
      state: () => entries,
    };
  });
});
it('dataSync indexes', () => {
  expectSameAsEager(
    () => ({
      fn: (x: Tensor) => {
        const d = x.dataSync();
        let s = 0;
        for (let i = 0; i < d.length; i++) s += d[i]!;
        return x.mul(s).add(d[0]!);
      },
      args: (c) => [values([4], c)],
    }),
    { calls: 12 },
  );
});
