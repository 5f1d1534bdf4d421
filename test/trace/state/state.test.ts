/**
 * Conformance 51–59, 61–64. Writes to outer objects run natively, as breaks, until effects are replayed;
 * so these tests state no counts but for objects made inside.
 */

import { describe, expect, it } from 'vitest';
import { AutogradError, noGrad, type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

let counter = 0;
let current: Tensor | undefined;
const registry: Record<string, unknown> = {};

describe('outer state', () => {
  it('objects: set, delete, nested alias (51, 56)', () => {
    expectSameAsEager(() => {
      const inner: Record<string, unknown> = { a: 1, b: 2 };
      const outer = { inner, also: inner, n: 1 };
      return {
        fn: (x: Tensor) => {
          outer.n = outer.n + 1;
          inner.c = x.mul(outer.n);
          delete outer.also.a;
          const had = 'a' in inner;
          outer.inner.a = outer.n;
          return [had, (outer.also.c as Tensor).add(1), inner.a];
        },
        args: () => [weights([2])],
        state: () => outer,
      };
    });
  });

  it('arrays: push, splice, unshift, pop, length, sort, reverse (52, 53)', () => {
    expectSameAsEager(() => {
      const list: unknown[] = [3, 1, 2];
      const nested = { list };
      return {
        fn: (x: Tensor) => {
          list.push(x.mul(2), 4);
          nested.list.splice(1, 1);
          list.unshift(0);
          const last = list.pop();
          const numbers = [3, 1, 2];
          numbers.sort();
          numbers.reverse();
          list.length = 3;
          return [last, list.slice(), numbers, nested.list === list, x.add(list.length)];
        },
        args: () => [weights([2])],
        state: () => nested,
      };
    });
  });

  it('arrays: an alias inside another array (54)', () => {
    expectSameAsEager(() => {
      const inner: unknown[] = [1];
      const outer = [inner, inner];
      return {
        fn: (x: Tensor) => {
          outer[0]!.push(x);
          return [outer[1]!.length, x.mul(inner.length)];
        },
        args: () => [weights([2])],
        state: () => outer,
      };
    });
  });

  it('arrays: reverse, then slice, then sum (55)', () => {
    expectSameAsEager(() => ({
      fn: (list: Tensor[]) => {
        list.reverse();
        let sum = list[0]!;
        for (const x of list.slice(1)) sum = sum.sub(x);
        return sum;
      },
      args: () => [[weights([2], 1), weights([2], 2), weights([2], 3)]],
    }));
  });

  it('a property between two breaks (57)', () => {
    expectSameAsEager(() => {
      const state = { n: 0, x: null as Tensor | null };
      const log: unknown[] = [];
      const push = log.push.bind(log);
      return {
        fn: (x: Tensor) => {
          push(state.n);
          state.n = 5;
          state.x = x.mul(state.n);
          push(state.n);
          return state.x.add(state.n++);
        },
        args: () => [weights([2])],
        state: () => [state, log],
      };
    });
  });

  it('module variables: number, tensor, create, delete; the last of three writes (58, 59)', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor, reset: boolean) => {
        if (reset) counter = 0;
        counter = 1;
        counter += 2;
        counter++;
        current = x.mul(counter);
        registry.a = current;
        registry.b = counter;
        delete registry.b;
        return current.add(counter);
      },
      args: (call) => [weights([2]), call === 0],
      state: () => [counter, current, registry],
    }));
    counter = 0;
  });

  it('two calls that count in one variable (60)', () => {
    expectSameAsEager(() => {
      let n = 0;
      const next = () => {
        n += 1;
        return n;
      };
      return {
        fn: (x: Tensor) => {
          next();
          return x.mul(next());
        },
        args: () => [weights([2])],
        state: () => n,
      };
    });
  });

  it('a constructor that changes its argument (61)', () => {
    class Taker {
      readonly x: Tensor;
      constructor(list: Tensor[], x: Tensor) {
        list.push(x);
        this.x = x.mul(list.length);
      }
    }
    expectSameAsEager(() => {
      const list: Tensor[] = [];
      return {
        fn: (x: Tensor) => new Taker(list, x.add(1)).x.mul(2),
        args: () => [weights([2])],
        state: () => list,
      };
    });
  });

  it('tensors in place: whole, strided, through an alias (62)', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          const before = x.mul(1);
          const column = x.narrow(1, 0, 1);
          const flat = x.reshape([6]);
          column.fill_(5);
          x.select(0, 1).mul_(2);
          const middle = flat.add(0);
          flat.add_(1);
          x.transpose(0, 1).copy_(x.transpose(0, 1).mul(2));
          return [before, middle, x.add(0), column.add(0), column, flat];
        },
        args: () => [values([2, 3])],
      }),
      { calls: 3 },
    );
  });

  it('a write in place where gradients are recorded is refused (63)', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const y = x.mul(2);
        y.copy_(x.mul(3));
        return y;
      },
      args: () => [weights([2])],
    }));
  });

  it('tensors in place inside if and loop, with and without another break (64)', () => {
    expectSameAsEager(() => {
      const log: unknown[] = [];
      const push = log.push.bind(log);
      return {
        fn: (x: Tensor, flag: boolean) => {
          const total = x.mul(0);
          for (let i = 0; i < 3; i++) {
            if (flag) total.add_(x.mul(i));
            else push(i);
            total.mul_(2);
          }
          return [total, x.add(total)];
        },
        args: (call) => [values([3]), call % 2 === 0],
        state: () => log,
      };
    });
  });

  it('a value saved for backward that is changed in place is refused by backward', () => {
    const changed = (x: Tensor, w: Tensor) => {
      const y = w.mul(x).mul(w).sum();
      noGrad(() => w.add_(1));
      return y;
    };
    for (const fn of [changed, toStatic(changed)]) {
      expect(() => fn(values([2]), weights([2])).backward()).toThrow(AutogradError);
    }
  });

  it('objects made inside are changed without a break', () => {
    const { breaks, graphs } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const o: Record<string, unknown> = { b: 1, 2: 'two', 1: 'one' };
        o.x = x.mul(2);
        o.self = o;
        const list: unknown[] = [o, o];
        list.push(list);
        list[1] = x;
        const { b, ...rest } = o;
        return [o, list, b, rest, [...list].length];
      },
      args: () => [weights([2])],
    }));
    expect([graphs, breaks]).toEqual([1, 0]);
  });
});
