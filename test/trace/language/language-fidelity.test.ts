/** Corners of the language in which a trace could differ from eager execution without anyone noticing. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { type CompareOptions, expectSameAsEager, values, type World } from '../same-as-eager.ts';

type Program = (x: Tensor, ...args: never[]) => unknown;

/** Sloppy code: a module has none. */
const sloppy = (parameters: string, body: string): Program =>
  new Function(...parameters.split(',').map((name) => name.trim()), body) as Program;

const breaks = 'const value = x.sum().itemSync();';

/** `arguments` and the parameters are one, in both directions, before and after a break. */
const sharing: Record<string, Program> = {
  'an element is written': sloppy('x, a', 'arguments[1] = 10; return x.mul(a);'),
  'a parameter is written': sloppy('x, a', 'a = 10; return x.mul(arguments[1]);'),
  'written by an arrow': sloppy('x, a', '(() => { arguments[1] = 4; })(); return x.mul(a);'),
  'written in an inner function': sloppy(
    'x, a',
    'function g(y, b) { arguments[1] += 10; b *= 2; return y.mul(arguments[1]).add(b); } return g(x, a);',
  ),
  'a tensor is written': sloppy('x, a', 'arguments[0] = x.mul(2); return x.add(a);'),
  'written before a break': sloppy('x, a', `arguments[1] = 10; ${breaks} return x.mul(a + value);`),
  'written behind a break': sloppy('x, a', `${breaks} arguments[1] = 10; return x.mul(a + value);`),
  'both before and behind a break': sloppy(
    'x, a',
    `a += 1; ${breaks} arguments[1] += 1; a *= 2; return [x.mul(a), arguments[1], value];`,
  ),
  'the parameter behind a break': sloppy(
    'x, a',
    `arguments[1] = 7; ${breaks} a += 1; return [x.mul(arguments[1]), arguments.length, value];`,
  ),
  'a list of arguments': sloppy(
    'x, a',
    'a = 5; let sum = 0; for (const each of arguments) if (typeof each === "number") sum += each; return x.add(sum);',
  ),
  'in a loop': sloppy(
    'x, a',
    'for (let i = 0; i < 3; i++) { arguments[1] += i; x = x.mul(a); } return [x, arguments[0]];',
  ),
  'not given': sloppy(
    'x, a, b, c',
    'c = 5; arguments[3] = 7; return [x.mul(c), arguments.length];',
  ),
  'one that was not passed is a property': sloppy(
    'x, a, b',
    'arguments[4] = 3; arguments[2] = 10; arguments[2] += 1; b ??= 2; const all = arguments; return [x.mul(arguments[2]), arguments.length, b, 3 in all, 4 in all, Object.keys(all), [...all].length, arguments];',
  ),
  'one that was not passed, written before a break': sloppy(
    'x, a, b',
    `arguments[2] = 10; ${breaks} b = 4; return [x.mul(arguments[2]), arguments.length, b, value];`,
  ),
  'one that was not passed, in an inner function': sloppy(
    'x, a',
    'function g(y, b) { arguments[1] = 4; return [y.mul(arguments[1]), b]; } return g(x);',
  ),
  'passed on': sloppy(
    'x, a',
    'a = 5; const f = (y, b) => y.mul(b); return f.apply(undefined, arguments);',
  ),
  'with a default they are apart': sloppy('x, a = 1', 'arguments[1] = 10; return x.mul(a);'),
  'strict code has them apart': sloppy('x, a', '"use strict"; arguments[1] = 10; return x.mul(a);'),
  'handed out': sloppy('x, a', 'a = 6; return [x.add(a), arguments];'),
  'a closure keeps it': sloppy('x, a', 'arguments[1] = 6; const f = () => a; return x.add(f());'),
  'two of one name': sloppy('x, a, a', 'a = 3; return [x.add(1), arguments[1], arguments[2]];'),
};

class Items<T> extends Array<T> {
  get first(): T | undefined {
    return this[0];
  }
}

const told = (list: unknown): unknown[] => [
  list instanceof Items,
  Array.isArray(list),
  (list as object).constructor === Array,
  (list as Items<unknown>).length,
];

const programs: Record<string, Program> = {
  'Array.from of a subclass': (x) => [
    x.mul(2),
    told(Items.from([1, 2])),
    (Items.from('ab') as Items<string>).first,
  ],
  'Array.from of a subclass, with a function': (x) => [
    x.mul(2),
    told(Items.from([1, 2], (n) => n * 2)),
  ],
  'Array.of of a subclass': (x) => [
    x.mul(2),
    told(Items.of(1, 2)),
    (Items.of(4, 5) as Items<number>).first,
  ],
  'methods of a subclass make its instances': (x) => {
    const list = new Items<number>();
    list.push(1, 2);
    return [x.mul(2), told(list.map((n) => n)), told(list.slice()), told(list.concat([1]))];
  },
  'Array.of and Array.from without a receiver': (x) => {
    const { of, from } = Array;
    return [x.mul(2), of(1, 2), from([1])];
  },
  'a zero is one key': (x) => {
    const [map, set] = [new Map([[-0, 1]]), new Set([-0, 0])];
    map.set(-0, 2);
    set.add(-0);
    return [
      x.mul(2),
      map,
      set,
      map.get(0),
      map.has(-0),
      set.has(0),
      [...set],
      Object.is([...map.keys()][0], 0),
    ];
  },
  'a zero that is computed is one key': (x) => {
    const zero = x.shape[0]! * -0;
    const map = new Map<number, string>();
    map.set(zero, 'a');
    map.set(0, 'b');
    return [x.mul(2), map, map.size, new Set([zero])];
  },
  'a zero is deleted from collections': (x) => {
    const [map, set] = [new Map([[0, 1]]), new Set([-0])];
    return [x.mul(2), map.delete(-0), set.delete(0), map, set];
  },
  'zeros in arrays and objects keep their sign': (x) => {
    const list = [-0, 0];
    return [x.mul(2), list, { a: -0 }, list.indexOf(0), list.includes(-0), Object.is(list[0], -0)];
  },
  'the description of symbols': (x) => {
    const symbol = Symbol('a name');
    return [x.mul(2), symbol.description, Symbol.iterator.description, Symbol().description];
  },
  'parts of regular expressions': (x) => {
    const pattern = /a+b/gi;
    return [x.mul(2), pattern.source, pattern.global, pattern.ignoreCase, pattern.sticky];
  },
};

/** Getters that users put on the language's prototypes see the value that is asked. */
const getters: Record<string, [holder: object, program: Program]> = {
  'of arrays': [
    Array.prototype,
    (x, list: never) => [x.add(1), [4, 5], (list as Seen).seen, ([1, 2] as never as Seen).seen],
  ],
  'of numbers': [Number.prototype, (x) => [x.add(1), (5 as never as Seen).seen]],
  'of strings': [String.prototype, (x) => [x.add(1), ('abc' as never as Seen).seen]],
  'of objects': [Object.prototype, (x) => [x.add(1), ({ length: 9 } as never as Seen).seen]],
  'of Maps': [Map.prototype, (x) => [x.add(1), (new Map([[1, 2]]) as never as Seen).seen]],
};

interface Seen {
  readonly seen: unknown;
}

/** Iterables whose number of elements changes from call to call. */
type Counted = { count: number } & Iterable<number>;

const iterables: Record<string, () => Counted> = {
  'a generator method': () =>
    new (class {
      count = 2;
      *[Symbol.iterator]() {
        for (let i = 0; i < this.count; i++) yield i;
      }
    })(),
  'a method that makes an iterator': () => ({
    count: 2,
    [Symbol.iterator]() {
      let i = 0;
      const next = (): IteratorResult<number> =>
        i < this.count ? { value: i++, done: false } : { value: undefined, done: true };
      return { next };
    },
  }),
  'an iterator of itself': () => ({
    count: 2,
    at: 0,
    [Symbol.iterator](this: Counted & Iterator<number> & { at: number }) {
      this.at = 0;
      return this;
    },
    next(this: { count: number; at: number }): IteratorResult<number> {
      return this.at < this.count
        ? { value: this.at++, done: false }
        : { value: undefined, done: true };
    },
  }),
  'the iterator of a list': () => ({
    count: 2,
    [Symbol.iterator]() {
      return Array.from({ length: this.count }, (_, i) => i)[Symbol.iterator]();
    },
  }),
  'an iterator with a return': () => ({
    count: 2,
    left: 0,
    [Symbol.iterator](this: Counted & { left: number }) {
      let i = 0;
      return {
        next: (): IteratorResult<number> =>
          i < this.count ? { value: i++, done: false } : { value: undefined, done: true },
        return: (): IteratorResult<number> => {
          this.left++;
          return { value: undefined, done: true };
        },
      };
    },
  }),
};

const loops: Record<string, (x: Tensor, items: Iterable<number>, log: unknown[]) => unknown> = {
  'a loop': (x, items) => {
    let y = x;
    for (const each of items) y = y.add(each);
    return y;
  },
  'a loop that is left': (x, items) => {
    let y = x;
    for (const each of items) {
      if (each > 2) break;
      y = y.add(each);
    }
    return y;
  },
  'a loop that breaks the graph': (x, items) => {
    let y = x;
    for (const each of items) {
      y = y.add(each);
      if (y.sum().itemSync() > 8) break;
    }
    return y;
  },
  'a loop that calls out': (x, items, log) => {
    let y = x;
    for (const each of items) {
      y = y.add(each);
      log.push(Intl.NumberFormat('en').format(each));
    }
    return y;
  },
  'spread and patterns': (x, items) => {
    const [a = 1, ...rest] = items;
    return [x.mul([...items].length), a, rest, new Set(items), Array.from(items, (n) => n + 1)];
  },
};

const counts = [2, 3, 4, 1, 0, 5];

function same(make: () => World, options: CompareOptions = {}): void {
  expectSameAsEager(make, { strict: false, ...options });
}

describe('arguments of sloppy code', () => {
  it.each(Object.entries(sharing))('%s', (_, fn) => {
    same(() => ({ fn, args: (call) => [values([2]), call + 2] }));
  });

  const beyond = Object.entries(sharing).filter(([name]) => name.includes('not passed'));
  it.each(beyond)('in a full graph: %s', (_, fn) => {
    same(() => ({ fn, args: () => [values([2])] }), { fullGraph: true });
  });
});

describe('values', () => {
  it.each(Object.entries(programs))('%s', (_, fn) => {
    same(() => ({ fn, args: () => [values([2])] }));
  });
});

describe('getters on the prototypes of the language', () => {
  it.each(Object.entries(getters))('%s', (_, [holder, fn]) => {
    const log: unknown[] = [];
    const around = <T>(body: () => T, call: number): T => {
      if (call === 0) return body();
      Object.defineProperty(holder, 'seen', {
        configurable: true,
        get(this: { length?: number }) {
          log.push(typeof this);
          return `seen ${this.length}`;
        },
      });
      try {
        return body();
      } finally {
        delete (holder as { seen?: unknown }).seen;
      }
    };
    same(() => ({ fn, args: () => [values([2]), [1, 2, 3]] }), { around, calls: 4 });
  });
});

describe('iterables whose count changes', () => {
  for (const [what, make] of Object.entries(iterables)) {
    it.each(Object.entries(loops))(`${what}, %s`, (_, fn) => {
      same(
        () => {
          const [items, log] = [make(), [] as unknown[]];
          return {
            fn,
            args: (call) => {
              items.count = counts[call]!;
              return [values([2]), items, log];
            },
            state: () => [items, log],
          };
        },
        { calls: counts.length },
      );
    });
  }
});
