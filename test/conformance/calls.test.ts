/** Conformance 65–70: calls, outputs, generators, exceptions. */

import { describe, expect, it } from 'vitest';
import { relu, type Tensor } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from '../trace/same-as-eager.ts';

function expectNoBreak(make: Parameters<typeof expectSameAsEager>[0]): void {
  const { stats } = expectSameAsEager(make);
  expect({ breaks: stats.breaks, fallbacks: stats.fallbacks }).toEqual({
    breaks: [],
    fallbacks: [],
  });
}

describe('conformance: calls and outputs', () => {
  it('65. defaults, rest, destructuring, spread, optional chaining', () =>
    expectNoBreak(() => ({
      fn: (
        x: Tensor,
        { a = 2, ...others }: { a?: number; b?: number; f?: (x: Tensor) => Tensor },
        ...rest: Tensor[]
      ) => {
        const [first = x, , third] = rest;
        const all = [...rest, x];
        const merged = { ...others, b: others.b ?? 3 };
        return [
          x.mul(a),
          first,
          third,
          all.length,
          merged.b,
          others.f?.(x),
          Number(merged?.b).toFixed(1),
        ];
      },
      args: (call) => [
        weights([2]),
        call % 2 ? { b: 4, f: relu } : { a: 5 },
        weights([2], 1),
        weights([2], 2),
      ],
    })));

  it('66. closures, a write to an outer variable, a decorator', () =>
    expectNoBreak(() => {
      let calls = 0;
      const twice = (fn: (x: Tensor) => Tensor) => (x: Tensor) => fn(fn(x));
      return {
        fn: (x: Tensor) => {
          const add = (y: Tensor) => {
            calls++;
            return y.add(x);
          };
          return twice(add)(x.mul(2));
        },
        args: () => [weights([2])],
        state: () => calls,
      };
    }));

  it('67. a callable object, a patched method, a computed member, a bound function', () =>
    expectNoBreak(() => {
      const callable = Object.assign((x: Tensor) => x.mul(2), { scale: 3 });
      const object: Record<string, (this: { by: number }, x: Tensor) => Tensor> & { by: never } =
        Object.assign(
          { by: 4 },
          {
            plain(this: { by: number }, x: Tensor) {
              return x.mul(this.by);
            },
          },
        ) as never;
      object.plain = function (this: { by: number }, x: Tensor) {
        return x.add(this.by);
      };
      const bound = object.plain!.bind({ by: 7 }) as (x?: Tensor) => Tensor;
      return {
        fn: (x: Tensor, name: string) => {
          const again = bound.bind(null, x);
          return [callable(x).mul(callable.scale), object[name]!(x), bound(x), again()];
        },
        args: () => [weights([2]), 'plain'],
      };
    }));

  it('68. outputs: an argument itself, constants, arrays, objects, shared and nested', () =>
    expectNoBreak(() => ({
      fn: (x: Tensor, list: Tensor[]) => {
        const y = x.mul(2);
        const shared = { y };
        return { x, y, same: [shared, shared], list, first: list[0], n: 3, text: `${x.rank}d` };
      },
      args: () => {
        const x = weights([2]);
        return [x, [x, weights([2], 1)]];
      },
    })));

  it('69. generators: next, return, yield*', () => {
    expectSameAsEager(() => {
      function* inner(x: Tensor): Generator<Tensor, number> {
        yield x.mul(2);
        return 5;
      }
      function* outer(x: Tensor): Generator<Tensor, string> {
        const n = yield* inner(x);
        yield x.add(n);
        return 'end';
      }
      return {
        fn: (x: Tensor) => {
          const all = [...outer(x)];
          const one = outer(x);
          const first = one.next();
          return [all, first.done, one.return('early'), one.next().done];
        },
        args: () => [values([2])],
      };
    });
  });

  it('70. throw, catch, finally, rethrow: no break; unmatched ones leave with type and message', () => {
    const { stats } = expectSameAsEager(
      () => {
        const steps: string[] = [];
        const risky = (x: Tensor, how: number) => {
          if (how === 1) throw new RangeError('one');
          if (how === 2) throw new TypeError('two');
          return x.mul(2);
        };
        return {
          fn: (x: Tensor, how: number) => {
            try {
              try {
                return risky(x, how);
              } catch (error) {
                if (!(error instanceof RangeError)) throw error;
                steps.push(`caught ${error.message}`);
                return x.neg();
              } finally {
                steps.push('inner');
              }
            } finally {
              steps.push('outer');
            }
          },
          args: (call) => [weights([2]), call % 3],
          state: () => steps,
        };
      },
      { calls: 6 },
    );
    // What leaves the function does so natively.
    expect(new Set(stats.breaks.map(({ reason }) => reason))).toEqual(new Set(['throw']));
  });
});
