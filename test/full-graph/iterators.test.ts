/** Iterators and generators are state of branches and loops: how far they are is merged, carried, or refused by name. */

import { describe, expect, it } from 'vitest';
import { nn, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { type Fn, outcome } from './outcome.ts';

type Items = Iterable<number | Tensor>;

class Counter {
  readonly #end: number;

  constructor(end: number) {
    this.#end = end;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let i = 1; i <= this.#end; i++) yield i;
  }
}

seed(1);
const model = new nn.Sequential(new nn.Linear(2, 2), new nn.Linear(2, 1));

const sources: Readonly<Record<string, (x: Tensor) => Items>> = {
  'array.values()': () => [1, 2, 3, 4].values(),
  'set.values()': () => new Set([1, 2, 3, 4]).values(),
  'a generator of constants': function* () {
    yield 1;
    yield 2;
    yield 3;
  },
  'a generator with state': function* () {
    for (let [a, b] = [1, 1]; a < 30; [a, b] = [b, a + b]) yield a;
  },
  'a generator of tensors': function* (x) {
    yield x;
    yield x.mul(2);
    yield x.mul(3);
  },
  'a generator that delegates': function* () {
    yield* [1, 2];
    yield 3;
  },
  'a generator that decides': function* (x) {
    let y = x;
    for (let i = 0; i < 4; i++) {
      if (y.sum().itemSync() > 2) y = y.sub(1);
      yield y;
    }
  },
  'a generator that yields on a decision': function* (x) {
    if (x.sum().itemSync() > 2) yield 1;
    else yield 2;
    yield 3;
    yield 4;
  },
  'a generator that ends by a decision': function* (x) {
    for (let n = 0; n < 6 && x.add(n).sum().itemSync() < 4; n++) yield x.add(n);
  },
  'an iterable object': () => new Counter(4),
  'parameters of a module': () => model.parameters(),
};

const amount = (each: number | Tensor): number | Tensor =>
  typeof each === 'number' ? each : each.sum();
const isLarge = (x: Tensor, than: number): boolean => x.sum().itemSync() > than;

/** What the function does with the items, one by one or by the iterator's own method. */
const uses: Readonly<Record<string, (x: Tensor, items: Items) => unknown>> = {
  break: (x, items) => {
    let sum = x;
    for (const each of items) {
      sum = sum.add(amount(each));
      if (isLarge(sum, 6)) break;
    }
    return sum;
  },
  continue: (x, items) => {
    let sum = x;
    for (const each of items) {
      if (isLarge(sum, 4)) continue;
      sum = sum.add(amount(each));
    }
    return sum;
  },
  return: (x, items) => {
    let sum = x;
    for (const each of items) {
      sum = sum.add(amount(each));
      if (isLarge(sum, 6)) return sum.mul(2);
    }
    return sum.neg();
  },
  'in a loop by hand': (x, items) => {
    const iterator = items[Symbol.iterator]();
    let sum = x;
    for (let n = 0; n < 5 && !isLarge(sum, 5); n++) {
      const { value, done } = iterator.next();
      if (done) break;
      sum = sum.add(amount(value));
    }
    return [sum, [...{ [Symbol.iterator]: () => iterator }].map(amount)];
  },
  'in a branch': (x, items) => {
    const iterator = items[Symbol.iterator]();
    iterator.next();
    if (isLarge(x, 3)) iterator.next();
    const { value, done } = iterator.next();
    return [x.mul(2), done, done || amount(value)];
  },
  'in a closure': (x, items) => {
    const iterator = items[Symbol.iterator]();
    const skip = () => {
      if (isLarge(x, 3)) iterator.next();
    };
    skip();
    skip();
    return [x.mul(2), iterator.next().done];
  },
  'in a callee that hands it back': (x, items) => {
    const opened = () => {
      const iterator = items[Symbol.iterator]();
      if (isLarge(x, 3)) iterator.next();
      return iterator;
    };
    const { value, done } = opened().next();
    return [x.mul(2), done, done || amount(value)];
  },
};

const choices = { auto: { capture: 'auto' }, full: { fullGraph: true } } as const;
const inputs = [0.1, 3, -2].map((value) => () => [tensor([value, value * 0.7])]);

describe.each(Object.keys(choices) as (keyof typeof choices)[])('captured, %s', (mode) => {
  it.each(Object.keys(uses))('%s', (use) => {
    let whole = 0;
    for (const [name, source] of Object.entries(sources)) {
      const fn: Fn = (x: Tensor) => uses[use]!(x, source(x));
      const captured = toStatic(fn, choices[mode]);
      let isRefused = false;
      for (const make of inputs) {
        const found = outcome(captured, make());
        if (mode === 'full' && found.thrown?.[0] === 'FullGraphError') isRefused = true;
        else expect(found, name).toEqual(outcome(fn, make()));
      }
      if (!isRefused && captured.stats().breaks.length === 0) whole++;
    }
    // Loops are unrolled; an iterator that a decision leaves at several places is refused.
    if (!use.startsWith('in ')) expect(whole).toBeGreaterThanOrEqual(7);
  });
});

describe('a hole that one path leaves in an array', () => {
  const programs: Readonly<Record<string, Fn>> = {
    deleted: (x: Tensor) => {
      const list: unknown[] = [1, 2, 3];
      if (isLarge(x, 3)) delete list[1];
      return [1 in list, list.length, Object.keys(list), x.mul(2)];
    },
    literal: (x: Tensor) => {
      let list: unknown[] = [1, 5, 3];
      // biome-ignore lint/suspicious/noSparseArray: that is the case.
      if (isLarge(x, 3)) list = [1, , 3];
      return [1 in list, Object.keys(list), x.mul(2)];
    },
    'in a loop': (x: Tensor) => {
      const list: unknown[] = [1, 2, 3];
      let sum = x;
      for (let i = 0; i < 3 && !isLarge(sum, 8); i++) {
        sum = sum.add(2);
        delete list[i];
      }
      return [Object.keys(list), sum];
    },
  };

  it.each(Object.entries(programs))('%s', (_name, fn) => {
    for (const choice of Object.values(choices)) {
      const captured = toStatic(fn, choice);
      for (const make of inputs) {
        const found = outcome(captured, make());
        if (found.thrown?.[0] === 'FullGraphError') expect(choice).toHaveProperty('fullGraph');
        else expect(found).toEqual(outcome(fn, make()));
      }
    }
  });
});
