/** Conformance 65, 67, 68, 70–73: forms of calls and parameters, identities of outputs, exceptions. */

import { describe, expect, it } from 'vitest';
import { type Tensor, toStatic } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';

function nativeLog() {
  const entries: unknown[] = [];
  return { entries, log: entries.push.bind(entries) as (...values: unknown[]) => number };
}

interface Given {
  readonly x: Tensor;
  readonly options?: { readonly by?: number; readonly keep?: string };
}

describe('calls', () => {
  it('defaults, rest, destructuring, spread, optional chaining (65)', () => {
    const { breaks } = expectSameAsEager(
      () => ({
        fn: (
          { x, options: { by = 2, ...others } = { by: 3 } }: Given,
          [first, , third = 1, ...rest]: number[],
          ...more: number[]
        ) => {
          const add = (a: Tensor, b: number, ...c: number[]) => a.add(b).mul(c.length);
          const call = { method: null as ((x: Tensor) => Tensor) | null };
          const sum = add(x.mul(by), ...([first, third] as [number, number]), ...more);
          return [
            sum,
            call.method?.(x),
            call?.method,
            { ...others, rest, more: [...more, ...rest] },
          ];
        },
        args: (call) => [
          { x: weights([2]), ...(call % 2 ? { options: { by: 4, keep: 'k' } } : {}) },
          call % 2 ? [1, 2, 3, 4] : [1],
          ...(call > 1 ? [7] : []),
        ],
      }),
      { calls: 5 },
    );
    expect(breaks).toBe(0);
  });

  it('callable objects, patched methods, computed members, bound functions (67)', () => {
    class Model {
      by = 2;
      forward(x: Tensor) {
        return x.mul(this.by);
      }
      backward2(x: Tensor) {
        return x.neg();
      }
    }
    expectSameAsEager(
      () => {
        const model = new Model();
        const original = model.forward;
        const bound = model.forward.bind({ by: 5 } as Model);
        const half = ((by: number, x: Tensor) => x.mul(by)).bind(null, 0.5);
        return {
          fn: (x: Tensor, name: 'forward' | 'backward2') => [
            model.forward(x),
            model[name](x),
            original.call({ by: 7 } as Model, x),
            bound(x),
            half(x),
          ],
          args: (call) => {
            if (call === 2) model.forward = (x: Tensor) => x.add(100);
            if (call === 4) model.by = 9;
            return [weights([2]), call % 2 ? 'forward' : 'backward2'];
          },
        };
      },
      { calls: 6 },
    );
  });

  it('methods of a class and its superclass, getters, static methods', () => {
    class Base {
      n = 2;
      static twice(x: Tensor) {
        return x.mul(2);
      }
      get factor() {
        return this.n;
      }
      run(x: Tensor) {
        return x.mul(this.n);
      }
    }
    class Derived extends Base {
      override run(x: Tensor) {
        const again = () => super.run(x);
        return super.run(x).add(Derived.twice(again())).mul(this.factor);
      }
    }
    expectSameAsEager(() => {
      const object = new Derived();
      return {
        fn: (x: Tensor) => object.run(x),
        args: (call) => {
          object.n = call;
          return [weights([2])];
        },
      };
    });
  });

  it('an op error in a nested call keeps type, message and line (72)', () => {
    const inner = (x: Tensor) => x.matmul(x);
    const captured = toStatic((x: Tensor) => inner(x.add(1)));
    let message = '';
    try {
      captured(values([2, 3]));
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/matmul/);
    expect(message).toMatch(/calls-and-outputs\.test\.ts:\d+:\d+/);
  });

  it('exceptions: throw, catch, finally, rethrow, native and by value (70)', () => {
    class OwnError extends Error {
      readonly code = 7;
    }
    expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        const check = (x: Tensor, n: number) => {
          if (n === 1) throw new OwnError(`bad ${x.shape}`);
          if (n === 2) throw 'text';
          if (n === 3) (x as unknown as { missing: { deep(): void } }).missing.deep();
          if (n === 4) (x as unknown as () => void)();
          if (n === 5) return 1n + (n as never);
          return x;
        };
        const guarded = (x: Tensor, n: number) => {
          try {
            return check(x.mul(2), n);
          } catch (error) {
            log(String(error));
            if (n === 2) throw error;
            return x.neg();
          } finally {
            log('finally');
          }
        };
        return {
          fn: (x: Tensor, n: number) => {
            const y = guarded(x, n) as Tensor;
            return [y, check(y, n === 5 ? 0 : n)];
          },
          args: (call) => [weights([2]), call % 6],
          state: () => entries,
        };
      },
      { calls: 12 },
    );
  });

  it('a network that breaks, called 20 times, is compiled once (71)', () => {
    const { translations, stats } = expectSameAsEager(
      () => {
        const { entries, log } = nativeLog();
        return {
          fn: (x: Tensor) => {
            const y = x.mul(2).relu();
            log('forward');
            return y.exp().sum();
          },
          args: () => [weights([4])],
          state: () => entries,
        };
      },
      { calls: 20 },
    );
    expect(translations[0]).toBe(translations[19]);
    expect(stats.graphRuns).toBe(40);
  });

  it('statistics survive a round trip through JSON (73)', () => {
    const { stats } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        process.uptime();
        return x.mul(2);
      },
      args: () => [values([2])],
    }));
    expect(JSON.parse(JSON.stringify(stats))).toEqual(stats);
  });

  it('recursion deeper than a trace follows', () => {
    expectSameAsEager(() => {
      const power = (x: Tensor, n: number): Tensor => (n === 0 ? x : power(x, n - 1).mul(1.01));
      return { fn: (x: Tensor) => power(x, 100), args: () => [weights([2])] };
    });
  });

  it('callees that cannot be captured run natively: async, generators, classes', () => {
    expectSameAsEager(() => {
      const later = async (x: Tensor) => x.mul(2);
      function* each(x: Tensor) {
        yield x.mul(2);
        return x;
      }
      class Box {
        readonly x: Tensor;
        constructor(x: Tensor) {
          this.x = x;
        }
      }
      return {
        fn: (x: Tensor) => {
          const promise = later(x);
          const [first] = each(x.add(1));
          return [promise instanceof Promise, first, new Box(first!.mul(3)).x];
        },
        args: () => [weights([2])],
      };
    });
  });

  it('a class called without new throws', () => {
    class Box {}
    expectSameAsEager(() => ({
      fn: (x: Tensor) => [(Box as unknown as () => void)(), x.mul(2)],
      args: () => [weights([2])],
    }));
  });

  it('asks for the values of a tensor asynchronously', async () => {
    const captured = toStatic((x: Tensor) => x.mul(2).sum().item());
    expect([await captured(values([2])), await captured(values([3]))]).toEqual([
      values([2]).mul(2).sum().itemSync(),
      values([3]).mul(2).sum().itemSync(),
    ]);
  });
});

describe('outputs', () => {
  it('an argument is returned as that very tensor, a result twice as one tensor (68)', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        return [x, y, y, { x, y, nested: [y, [x]] }, x.squeeze(0), y.contiguous()];
      },
      args: () => [weights([2])],
    }));
  });

  it('constants, nested containers, shared identity, cycles (68)', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const shared = { x, list: [1, 'two', null, undefined, 3n] };
        const cycle: unknown[] = [shared, shared, Number.NaN, -0];
        cycle.push(cycle, { cycle });
        return { cycle, shared, f: shared.list };
      },
      args: () => [weights([2])],
    }));
  });

  it('nothing, a number, a string, a function', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) =>
          n === 0 ? undefined : n === 1 ? x.numel() : n === 2 ? `${x.dtype}` : () => x,
        args: (call) => [weights([2]), call],
      }),
      { calls: 4 },
    );
  });

  it('holes of arrays stay holes', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor, given: number[]) => {
        // biome-ignore lint/suspicious/noSparseArray: that is the point.
        const made = [x, , 1];
        return [made, given.slice(), [...given], given.concat([1]), made.length];
      },
      // biome-ignore lint/suspicious/noSparseArray: that is the point.
      args: () => [weights([2]), [1, , 3]],
    }));
  });

  it('keys that look like numbers', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor, o: Record<string, number>, a: number[]) => {
        const made: Record<string, unknown> = { b: 1, 10: 2, 9: 3 };
        made['01'] = x.mul(a['01' as never] ?? 2);
        return [made, { ...made }, { ...o }, [1, 2]['01' as never], '01'['01' as never]];
      },
      args: () => [weights([2]), { z: 1, 3: 4, 1: 2 }, [5, 6]],
    }));
  });

  it('objects with symbols or a prototype are copied as eager execution copies them', () => {
    const key = Symbol('key');
    expectSameAsEager(
      () => ({
        fn: (x: Tensor, o: Record<string, number>) => {
          const { a, ...rest } = o;
          return [x.mul(a ?? 1), { ...o }, rest];
        },
        args: (call) => [
          weights([2]),
          [{ a: 1 }, { a: 1, [key]: 2 }, Object.create({ a: 5 }), { a: 1, b: 2 }][call % 4],
        ],
      }),
      { calls: 8 },
    );
  });

  it('only one of two outputs is differentiated', () => {
    const eager = (x: Tensor, w: Tensor) => [x.mul(w).sum(), w.exp().sum()] as const;
    for (const which of [0, 1] as const) {
      const gradients = [eager, toStatic(eager)].map((fn) => {
        const [x, w] = [values([3], 1), weights([3], 2)];
        fn(x, w)[which].backward();
        return [...w.grad!.dataSync()];
      });
      expect(gradients[1]).toEqual(gradients[0]);
    }
  });
});
