/** Conformance 66: closures, cells, `this` in arrows, across graph breaks and from call to call. */

import { describe, expect, it } from 'vitest';
import { type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';
import { expectOneGraph } from './every-mode.ts';

function nativeLog() {
  const entries: unknown[] = [];
  return { entries, log: entries.push.bind(entries) as (...values: unknown[]) => number };
}

describe('closures', () => {
  it('made before a break and called after it are inlined, one entry for all calls', () => {
    const { translations, stats, reasons } = expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        return {
          fn: (x: Tensor) => {
            const scale = x.sum();
            const f = (y: Tensor) => y.mul(scale).add(x);
            log('between');
            return f(f(x).relu());
          },
          args: () => [weights([3])],
          state: () => entries,
        };
      },
      { calls: 12 },
    );
    expect(translations[11]).toBe(2);
    expect(stats.graphs).toBe(2);
    expect(reasons).toEqual(['native-call']);
  });

  it('share a variable with the function, before and after a break', () => {
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      return {
        fn: (x: Tensor) => {
          let n = 1;
          let y = x;
          const step = () => {
            n += 1;
            y = y.mul(n);
            return n;
          };
          step();
          log(n);
          n = 10;
          step();
          log(n, step());
          return [y, n, step(), y];
        },
        args: () => [weights([2])],
        state: () => entries,
      };
    });
  });

  it('that leave the function go on working, each with its own variables', () => {
    expectSameAsEager(() => {
      const kept: (() => Tensor)[] = [];
      return {
        fn: (x: Tensor) => {
          let n = 0;
          return {
            next: () => x.mul(++n),
            peek: () => n,
          };
        },
        args: () => [weights([2])],
        install: (fn) => (x: Tensor) => {
          const made = fn(x) as { next: () => Tensor; peek: () => number };
          kept.push(made.next);
          return [made.next(), made.next(), made.peek(), kept.map((next) => next())];
        },
      };
    });
  });

  it('two of one code, from a factory, keep their own variables across breaks', () => {
    expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        const make = (by: number, w: Tensor) => (x: Tensor) => {
          const y = x.mul(by);
          log(by);
          return y.add(w);
        };
        const [double, triple] = [make(2, values([2], 7)), make(3, values([2], 8))];
        return {
          fn: (x: Tensor, f: (x: Tensor) => Tensor) => f(x).mul(2),
          args: (call) => [weights([2]), call % 2 ? double : triple],
          state: () => entries,
        };
      },
      { calls: 6 },
    );
  });

  it('see the `this` of the place where an arrow was made', () => {
    class Layer {
      readonly by: number;
      readonly log: (...values: unknown[]) => unknown;
      constructor(by: number, log: (...values: unknown[]) => unknown) {
        this.by = by;
        this.log = log;
      }
      run = (x: Tensor) => x.mul(this.by);
      forward(x: Tensor) {
        const inner = (y: Tensor) => {
          this.log('inner');
          return y.mul(this.by);
        };
        const twice = () => [inner(x), inner(this.run(x))];
        return twice();
      }
    }
    expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        const layers = [new Layer(2, log), new Layer(3, log)];
        return {
          fn: (x: Tensor, layer: Layer) => [layer.forward(x), layer.run(x)],
          args: (call) => [weights([2]), layers[call % 2]],
          state: () => entries,
        };
      },
      { calls: 4 },
    );
  });

  it('may be called back by native code', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        let total = 0;
        const list = [1, 2, 3].map((n, i) => {
          total += n;
          return x.mul(n + i);
        });
        const sum = list.reduce((a, b) => a.add(b));
        return [list.filter((_, i) => i > 0), sum, total, list.some((t) => t.rank === 1)];
      },
      args: () => [weights([2])],
    }));
  });

  it('may call themselves, and be called before the variables they use are set', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, early: boolean) => {
          const power = (n: number): Tensor => (n === 0 ? x : power(n - 1).mul(x));
          const use = () => later.add(1);
          if (early) use();
          const later = power(3);
          return use();
        },
        args: (call) => [weights([2]), call % 2 === 1],
      }),
      { calls: 4 },
    );
  });

  it('initialised in one call and not in another, across a break', () => {
    expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        return {
          fn: (x: Tensor, early: boolean) => {
            const use = () => later;
            log(early);
            if (early) return [use(), x.add(1)];
            log('late');
            const later = 5;
            log('later');
            return [use(), x.mul(use())];
          },
          args: (call) => [weights([2]), [false, true, false, false, true][call]],
          state: () => entries,
        };
      },
      { calls: 5 },
    );
  });

  it('captured by themselves, with cells of their own', () => {
    const make = () => {
      let n = 0;
      return (x: Tensor) => {
        n++;
        return x.mul(n);
      };
    };
    expectSameAsEager(() => ({ fn: make(), args: () => [weights([2])] }));
  });

  it('made inside a captured function and captured again', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const w = x.exp();
        const inner = toStatic((y: Tensor) => y.mul(w));
        return inner(x).add(inner(x));
      },
      args: () => [weights([2])],
    }));
  });

  it('as default arguments', () => {
    expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        return {
          fn: (
            x: Tensor,
            f = (y: Tensor) => y.mul(2),
            g = () => {
              log('g');
              return f(x);
            },
          ) => f(x).add(g()),
          args: (call) => (call % 2 ? [weights([2]), (y: Tensor) => y.neg()] : [weights([2])]),
          state: () => entries,
        };
      },
      { calls: 4 },
    );
  });

  it('sloppy functions see the global object', () => {
    const sloppy = new Function('x', 'f', 'return f(x, this === globalThis)') as never;
    const nested = new Function(
      'x',
      'log',
      'function inner() { return this === globalThis ? x.mul(2) : x.neg() } log(1); return inner()',
    ) as never;
    expectSameAsEager(() => ({
      fn: sloppy,
      args: () => [weights([2]), (x: Tensor, global: boolean) => [x.mul(2), global]],
    }));
    expectSameAsEager(() => {
      const { entries, log } = nativeLog();
      return { fn: nested, args: () => [weights([2]), log], state: () => entries };
    });
  });

  it('sloppy functions called without an object are traced, and see later changes of the global object', () => {
    const code = (body: string) => new Function(`return function () { ${body} }`)() as () => number;
    const key = 'seenBySloppyCode';
    const globals = globalThis as Record<string, unknown>;
    const read = code(`return this.${key}`);
    const write = code(`this.${key} = (this.${key} ?? 0) + 1; return this.${key}`);
    const ofNumber = code('return typeof this');
    const called = (x: Tensor, n: number) => [
      x.mul(write() + write.call(null as never)),
      read(),
      read.apply(undefined as never),
      ofNumber.call(n as never),
    ];
    try {
      expectSameAsEager(() => {
        // Both worlds share the global object.
        const args = (call: number) => {
          globals[key] = call % 2 ? 3 : 5;
          return [weights([2]), call];
        };
        return { fn: called, args, state: () => globals[key] };
      });
    } finally {
      delete globals[key];
    }
    const memoized = new Function(
      'f',
      `const cache = new Map();
       return function (k) { if (!cache.has(k)) cache.set(k, f.apply(this, arguments)); return cache.get(k); }`,
    );
    expectOneGraph(() => {
      const square = memoized((k: number) => k * k) as (k: number) => number;
      return { fn: (x: Tensor) => x.mul(square(3)), args: () => [weights([2])] };
    });
  });
});
