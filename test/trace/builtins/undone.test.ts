/**
 * Code that runs in the middle of an instruction, such as a valueOf(), changes something, and then reads data: the trace
 * takes its changes back, and the instruction runs natively. Nothing happens twice.
 */

import { describe, expect, it } from 'vitest';
import { randn, seed, stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

// biome-ignore lint/suspicious/noExplicitAny: the changes take every kind of object.
type Anything = any;

/** What a change works on, and the change; state is described after each call. */
interface Change {
  readonly make: () => Anything;
  readonly change: (o: Anything, x: Tensor) => unknown;
  readonly show?: (o: Anything) => unknown;
}

/** The arguments of code that isn't strict: a parameter and its element share what is written. */
const sloppyArguments = new Function('first', 'return arguments;') as (first: number) => unknown;

const list = () => [3, 1, 2];
const map = () => new Map([[1, 2]]);
const set = () => new Set([1, 2]);
const showIterator = (o: Anything) => [...o];

const changes: Readonly<Record<string, Change>> = {
  push: { make: list, change: (o) => o.push(4) },
  pop: { make: list, change: (o) => o.pop() },
  shift: { make: list, change: (o) => o.shift() },
  unshift: { make: list, change: (o) => o.unshift(7) },
  splice: { make: list, change: (o) => o.splice(1, 1) },
  sort: { make: list, change: (o) => o.sort() },
  reverse: { make: list, change: (o) => o.reverse() },
  fill: { make: list, change: (o) => o.fill(o[0] + 1) },
  'an element': { make: list, change: (o) => o[0]++ },
  'a length': { make: list, change: (o) => (o.length = 1) },
  'a frozen array': { make: list, change: (o) => Object.freeze(o), show: Object.isFrozen },
  'a pushed tensor': {
    make: () => [],
    change: (o, x) => o.push(x.mul(2)),
  },
  'set()': { make: map, change: (o) => o.set(o.size + 5, 1) },
  'delete of a key': { make: map, change: (o) => o.delete(1) },
  'clear()': { make: map, change: (o) => o.clear() },
  'set() after listing': { make: map, change: (o) => o.set([...o.keys()].length + 5, 2) },
  'listing after set()': { make: map, change: (o) => [...o.set(o.size + 5, 1)].length },
  'add()': { make: set, change: (o) => o.add(o.size + 5) },
  'a listed Set': { make: set, change: (o) => o.add([...o].length + 5) },
  'a deleted element': { make: set, change: (o) => [...o, o.delete(1)].length },
  'a property': { make: () => ({ n: 1 }), change: (o) => o.n++ },
  'a new property': { make: () => ({ n: 1 }), change: (o) => (o[`n${Object.keys(o).length}`] = 1) },
  'a deleted property': { make: () => ({ n: 1, m: 2 }), change: (o) => delete o.n },
  'a defined property': {
    make: () => ({ n: 1 }),
    change: (o) => Object.defineProperty(o, 'n', { value: o.n + 1, enumerable: true }),
  },
  'a frozen object': {
    make: () => ({ n: 1 }),
    change: (o) => Object.freeze(o),
    show: Object.isFrozen,
  },
  'no more extensions': {
    make: () => ({ n: 1 }),
    change: (o) => Object.preventExtensions(o),
    show: Object.isExtensible,
  },
  'a prototype': {
    make: () => ({ n: 1 }),
    change: (o) => Object.setPrototypeOf(o, { m: (o.m ?? 0) + 1 }),
    show: (o) => o.m,
  },
  'a name': {
    make: () => () => 1,
    change: (o) => Object.defineProperty(o, 'name', { value: `${o.name}!`, configurable: true }),
    show: (o) => o.name,
  },
  'next() of an array': {
    make: () => list().values(),
    change: (o) => o.next(),
    show: showIterator,
  },
  'next() of a Map': { make: () => map().entries(), change: (o) => o.next(), show: showIterator },
  'a whole iterator': { make: () => list().values(), change: (o) => [...o], show: showIterator },
  'a whole iterator of a Set': {
    make: () => set().values(),
    change: (o) => [...o],
    show: showIterator,
  },
  'a first of an iterator': {
    make: () => list().values(),
    change: (o) => {
      for (const each of o) return each;
    },
    show: showIterator,
  },
  'a generator': {
    make: () =>
      (function* () {
        yield 1;
        yield 2;
        yield 3;
      })(),
    change: (o) => o.next(),
    show: showIterator,
  },
  'a closed generator': {
    make: () =>
      (function* () {
        yield 1;
        yield 2;
      })(),
    change: (o) => o.return(5).value,
    show: showIterator,
  },
  'an iterator that a generator closes': {
    make: () => {
      const closed = { times: 0 };
      const each = {
        next: () => ({ value: 1, done: false }),
        return: () => ({ value: closed.times++ }),
        [Symbol.iterator]: () => each,
      };
      const generator = (function* () {
        for (;;) {
          for (const one of each) {
            yield one;
            break;
          }
        }
      })();
      generator.next();
      return { closed, generator };
    },
    change: (o) => o.generator.next().value,
    show: (o) => o.closed.times,
  },
  'an argument that was not passed': {
    make: () => sloppyArguments(1),
    change: (o) => (o[2] = (o[2] ?? 0) + 1),
    show: (o) => [o.length, o[0], o[1], o[2]],
  },
  'a regular expression': {
    make: () => /a/g,
    change: (o) => o.exec('aaa'),
    show: (o) => o.lastIndex,
  },
  'a last index': { make: () => /a/g, change: (o) => o.lastIndex++, show: (o) => o.lastIndex },
  'a Date': {
    make: () => new Date(5),
    change: (o) => o.setTime(o.getTime() + 1),
    show: (o) => o.getTime(),
  },
  'a URL': {
    make: () => new URL('http://a.b/c'),
    change: (o) => (o.pathname += 'd'),
    show: (o) => o.href,
  },
  'a typed array': { make: () => new Float32Array([1, 2]), change: (o) => o[0]++ },
  'a class member': {
    make: () =>
      class {
        static n = 1;
      },
    change: (o) => o.n++,
    show: (o) => o.n,
  },
  'a private field': {
    make: () =>
      new (class {
        #n = 1;
        more() {
          return this.#n++;
        }
        n() {
          return this.#n;
        }
      })(),
    change: (o) => o.more(),
    show: (o) => o.n(),
  },
  'a tensor in place': { make: () => values([2]), change: (o) => o.add_(1) },
  'a tensor that requires gradients': {
    make: () => values([2]),
    change: (o) => o.requiresGrad_(!o.requiresGrad),
    show: (o) => o.requiresGrad,
  },
  'a gradient': {
    make: () => weights([2]),
    change: (o) => o.mul(2).sum().backward(),
    show: (o) => o.grad,
  },
  'no gradient': {
    make: () => {
      const w = weights([2]);
      w.mul(2).sum().backward();
      return w;
    },
    change: (o) => (o.grad = null),
    show: (o) => o.grad,
  },
  'a kept gradient': {
    make: () => weights([2]),
    change: (o) => {
      const y = o.mul(3);
      y.retainGrad();
      y.sum().backward();
      return y.grad;
    },
    show: (o) => o.grad,
  },
  'a random number': { make: () => ({ drawn: [] }), change: (o) => o.drawn.push(randn([1])) },
};

/** Runs the code in the middle of one instruction. */
const inside: Readonly<Record<string, (code: () => number) => unknown>> = {
  'a valueOf()': (code) => +{ valueOf: code },
  'a return()': (code) => {
    const [first] = {
      [Symbol.iterator]: () => ({
        next: () => ({ value: 1, done: false }),
        return: () => ({ value: code() }),
      }),
    };
    return first;
  },
};

describe.each(Object.entries(inside))('changes in %s that is run natively', (_, run) => {
  it.each(Object.entries(changes))('%s', (_, { make, change, show = (o) => o }) => {
    for (const isOuter of [true, false]) {
      const { reasons } = expectSameAsEager(
        () => {
          const outer = make();
          const fn = (x: Tensor) => {
            const o = isOuter ? outer : make();
            const result = run(() => {
              change(o, x);
              return x.sum().itemSync();
            });
            change(o, x);
            return [x.mul(2), result, isOuter ? null : show(o)];
          };
          return {
            fn,
            args: (call) => {
              seed(call);
              return [values([2], call)];
            },
            state: () => (isOuter && show !== showIterator ? show(outer) : null),
          };
        },
        { calls: 3 },
      );
      expect(reasons).not.toEqual([]);
    }
  });
});

interface Lists {
  readonly list: Tensor[];
  readonly set: Set<Tensor>;
}

/** The lists grow in every call, so that one trace serves every length. */
const overLists: Readonly<
  Record<string, (lists: Lists, x: Tensor, run: (code: () => Tensor) => unknown) => unknown>
> = {
  'an iterator of a list': ({ list }, x, run) => {
    const each = list.values();
    const sum = () => {
      let s = x;
      for (const element of each) s = s.add(element);
      return s;
    };
    return [run(sum), sum()];
  },
  'an iterator of a Set': ({ set }, x, run) => {
    const each = set.values();
    const all = () => stack([x, ...each]);
    return [run(all), all()];
  },
  'a list of results': ({ list }, x, run) => {
    const doubled: Tensor[] = [];
    const add = () => {
      for (const element of list) doubled.push(element.mul(2));
      return x;
    };
    return [run(add), add(), stack(doubled)];
  },
};

describe.each(Object.entries(inside))('loops over lists in %s that is run natively', (_, run) => {
  it.each(Object.entries(overLists))('%s', (_, body) => {
    const { reasons } = expectSameAsEager(
      () => {
        const lists: Lists = { list: [], set: new Set() };
        return {
          fn: (x: Tensor) => {
            lists.list.push(x.mul(2));
            lists.set.add(x.mul(3));
            return body(lists, x, (code) => run(() => code().exp().sum().itemSync()));
          },
          args: (call) => [values([2], call)],
          state: () => lists,
        };
      },
      { calls: 5 },
    );
    expect(reasons).not.toEqual([]);
  });
});
