/** Iterators of the user's own that keep to the protocol, and such that don't, wherever the language iterates. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

type Log = string[];
type Step = { done?: unknown; value?: unknown };

/** Three elements; what `changes` has replaces its methods. */
function counting(log: Log, changes: (log: Log) => object = () => ({})): Iterable<number> {
  let count = 0;
  const iterator = {
    next(): Step {
      log.push(`next ${count}`);
      return count < 3 ? { value: count++, done: false } : { value: undefined, done: true };
    },
    ...changes(log),
  };
  return { [Symbol.iterator]: () => iterator } as unknown as Iterable<number>;
}

const closing = (result: unknown) => (log: Log) => ({
  return() {
    log.push('return');
    return result;
  },
});

const iterables: Readonly<Record<string, (log: Log) => Iterable<number>>> = {
  'without return': (log) => counting(log),
  'that closes': (log) => counting(log, closing({})),
  'whose return is bound': (log) =>
    counting(log, () => ({
      return: function (this: Log, word: string) {
        this.push(word);
        return {};
      }.bind(log, 'bound return'),
    })),
  'whose return is null': (log) => counting(log, () => ({ return: null })),
  'whose return is no function': (log) => counting(log, () => ({ return: 5 })),
  'whose return gives null': (log) => counting(log, closing(null)),
  'whose return gives a number': (log) => counting(log, closing(1)),
  'whose return gives an array': (log) => counting(log, closing([])),
  'whose return throws': (log) =>
    counting(log, () => ({
      return() {
        log.push('return');
        throw new RangeError('returned');
      },
    })),
  'whose next gives a number': (log) => counting(log, () => ({ next: () => 8 })),
  'whose next gives undefined': (log) => counting(log, () => ({ next: () => undefined })),
  'whose next gives a done function': (log) =>
    counting(log, () => ({ next: () => Object.assign(() => 0, { done: true }) })),
  'whose next is bound': (log) => {
    let left = 2;
    const next = function (this: Log) {
      this.push('bound next');
      return { value: left, done: left-- <= 0 };
    };
    return counting(log, () => ({ next: next.bind(log) }));
  },
  'whose next is no function': (log) => counting(log, () => ({ next: {} })),
  'whose next throws': (log) =>
    counting(log, () => ({
      next() {
        throw new RangeError('next');
      },
      ...closing({})(log),
    })),
  'whose done is a text': (log) => {
    const words = ['', '', 'end'];
    return counting(log, () => ({ next: () => ({ done: words.shift() ?? 1, value: 7 }) }));
  },
  'whose value throws': (log) =>
    counting(log, () => ({
      next: () => ({
        done: false,
        get value(): number {
          log.push('value');
          throw new RangeError('value');
        },
      }),
      ...closing({})(log),
    })),
  'that is a number': () => ({ [Symbol.iterator]: () => 4 }) as unknown as Iterable<number>,
  'that is a bound method': (log) => {
    const self = counting(log);
    return { [Symbol.iterator]: self[Symbol.iterator].bind(self) };
  },
  'that is a generator': (log) =>
    (function* () {
      try {
        yield 1;
        yield 2;
      } finally {
        log.push('finally');
      }
    })(),
};

/** Closes what it goes over, too. */
function* mapped<T>(from: Iterable<number>, entry: (each: number) => T): Iterable<T> {
  for (const each of from) yield entry(each);
}

/** Each iterates, around an op. */
const consumers: Readonly<
  Record<string, (x: Tensor, from: Iterable<number>, log: Log) => unknown>
> = {
  'a loop': (x, from) => {
    let y = x;
    for (const each of from) y = y.add(each);
    return y;
  },
  'a loop that is left': (x, from) => {
    let y = x;
    for (const each of from) {
      y = y.add(each);
      if (each === 1) break;
    }
    return y;
  },
  'a loop that throws': (x, from, log) => {
    try {
      for (const each of from) {
        log.push(`seen ${each}`);
        throw new TypeError('in the loop');
      }
    } catch (error) {
      log.push((error as Error).message);
    }
    return x.mul(2);
  },
  'a loop that returns': (x, from) => {
    for (const each of from) return x.mul(each + 1);
    return x;
  },
  'a loop left for an outer one': (x, from) => {
    let y = x;
    outer: for (const i of [1, 2]) {
      for (const each of from) {
        y = y.add(each + i);
        if (each === 0) continue outer;
      }
    }
    return y;
  },
  'a pattern': (x, from) => {
    const [a, b] = from;
    return [x.mul(2), a, b];
  },
  'an empty pattern': (x, from) => {
    // biome-ignore lint/correctness/noEmptyPattern: it opens and closes the iterator.
    const [] = from;
    return x.mul(2);
  },
  'a pattern with a gap': (x, from) => {
    const [, b = 9] = from;
    return [x.mul(2), b];
  },
  'a pattern with a rest': (x, from) => {
    const [a, ...rest] = from;
    return [x.mul(2), a, rest];
  },
  'a pattern of an assignment': (x, from) => {
    const to: { a?: number; b?: number | undefined } = {};
    [to.a, to.b] = from as unknown as [number, number];
    return [x.mul(2), to];
  },
  'a parameter': (x, from) => {
    const inner = ([a]: Iterable<number>) => x.mul(2).add(a ?? 5);
    return inner(from);
  },
  'a spread array': (x, from) => [x.mul(2), [...from]],
  'spread arguments': (x, from) => x.mul(Math.max(...from)),
  'a delegating generator': (x, from) => {
    const inner = function* () {
      yield* from;
    };
    let y = x;
    for (const each of inner()) {
      y = y.add(each);
      if (each === 1) break;
    }
    return y;
  },
  'Array.from': (x, from) => [x.mul(2), Array.from(from, (each) => each + 1)],
  'a Set': (x, from) => [x.mul(2), new Set(from).size],
  'a Map': (x, from) => [x.mul(2), new Map(from as unknown as Iterable<[number, number]>).size],
  'a Map of pairs': (x, from) => {
    const pairs = function* () {
      for (const each of from) yield [each, x.mul(each)] as const;
    };
    return new Map(pairs());
  },
  'a Map of a class': (x, from, log) => {
    class Counted extends Map<number, number> {
      override set(key: number, value: number) {
        log.push(`set ${key}`);
        if (key === 1) throw new RangeError('too many');
        return super.set(key, value);
      }
    }
    const entry = (each: number) => [each, each] as const;
    return [x.mul(2), new Counted(mapped(from, entry)).size];
  },
  'a WeakSet': (x, from) => [x.mul(2), new WeakSet(from as unknown as Iterable<object>) !== null],
  entries: (x, from) => [
    x.mul(2),
    Object.fromEntries(from as unknown as Iterable<[string, number]>),
  ],
  'a typed array': (x, from) => [x.mul(2), new Float32Array(from)],
};

describe.each(Object.keys(consumers))('%s', (consumer) => {
  it.each(Object.keys(iterables))('goes over one %s', (iterable) => {
    const { stats } = expectSameAsEager(() => {
      const log: Log = [];
      const fn = (x: Tensor) => {
        const y = x.add(1);
        try {
          return consumers[consumer]!(y, iterables[iterable]!(log), log);
        } catch (error) {
          return [y, (error as Error).name];
        }
      };
      return { fn, args: () => [values([3])], state: () => log };
    });
    expect(stats.graphs).toBeGreaterThan(0);
  });
});
