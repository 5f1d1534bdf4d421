/** Conformance 40 and 69: generators are followed; a break goes on in the middle of one. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

/** A generator that says when it ends. */
function scaledWith(push: (text: string) => void) {
  return function* (x: Tensor, count: number): Generator<Tensor, string, number | undefined> {
    try {
      for (let i = 1; i <= count; i++) {
        const sent = yield x.mul(i);
        if (sent !== undefined) i += sent;
      }
      return 'all';
    } finally {
      push('closed');
    }
  };
}

function* pure(xs: Tensor[]): Generator<Tensor> {
  for (const x of xs) yield x.mul(2);
}

function* both(xs: Tensor[]): Generator<Tensor> {
  yield xs[0]!;
  yield* pure(xs);
}

describe('trace/generators', () => {
  it('are inlined in for-of, spread, destructuring and Array.from', () => {
    const { graphs, breaks } = expectSameAsEager(() => ({
      fn: (xs: Tensor[]) => {
        let sum = xs[0]!;
        for (const x of pure(xs)) sum = sum.add(x);
        const [first] = pure(xs);
        return [sum, ...pure(xs), first, Array.from(pure(xs), (x) => x.neg())];
      },
      args: () => [[weights([2], 1), weights([2], 2)]],
    }));
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('go on natively where the loop around them breaks', () => {
    const { graphs } = expectSameAsEager(() => ({
      fn: (xs: Tensor[]) => {
        let sum = xs[0]!;
        for (const x of pure(xs)) {
          sum = sum.add(x);
          if (sum.sum().itemSync() > 100) break;
        }
        return sum;
      },
      args: () => [[weights([2], 1), weights([2], 2), weights([2], 3)]],
    }));
    expect(graphs).toBeGreaterThan(0);
  });

  it('next with a value, return, and what finally does', () => {
    expectSameAsEager(() => {
      const log: unknown[] = [];
      const scaled = scaledWith(log.push.bind(log));
      return {
        fn: (x: Tensor) => {
          const generator = scaled(x, 5);
          const first = generator.next();
          const second = generator.next(1);
          const end = generator.return('early');
          return [
            first.value,
            second.value,
            second.done,
            end.value,
            end.done,
            generator.next().done,
          ];
        },
        args: () => [values([2])],
        state: () => [...log],
      };
    });
  });

  it('are closed when a loop is left, and hand on another one by yield*', () => {
    expectSameAsEager(() => {
      const log: unknown[] = [];
      const scaled = scaledWith(log.push.bind(log));
      return {
        fn: (x: Tensor) => {
          let last = x;
          for (const y of scaled(x, 4)) {
            last = last.add(y);
            if (y.shape[0] === 2) break;
          }
          return [last, ...both([last, x])];
        },
        args: () => [values([2])],
        state: () => [...log],
      };
    });
  });

  it('that escape go on by themselves', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const generator = pure([x, x.add(1)]);
        const first = generator.next().value as Tensor;
        return { first, rest: [...generator], other: pure([x]) };
      },
      args: () => [values([2])],
      install: (fn) => (x: Tensor) => {
        const { first, rest, other } = fn(x) as ReturnType<
          () => { first: Tensor; rest: Tensor[]; other: Generator<Tensor> }
        >;
        return [first, ...rest, ...other];
      },
    }));
  });
});
