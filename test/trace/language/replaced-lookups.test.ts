/** The language's own functions, replaced by the user between calls, where the language itself looks them up. */

import { describe, expect, it } from 'vitest';
import { Tensor, tensor, toStatic } from '../../../src/index.ts';
import {
  apply,
  type Callable,
  expectCompilerUntouched,
  type Holder,
  isOwn,
  outcome,
} from './replaced.ts';

expectCompilerUntouched();

const prototypeOf = (value: object): object => Object.getPrototypeOf(value) as object;
const arrayIterator = prototypeOf([].values());
const mapIterator = prototypeOf(new Map().values());
const setIterator = prototypeOf(new Set().values());
const generator = prototypeOf(function* () {}.prototype as object);

/** Replacements do something else for these texts, and leave everything else alone. */
const isMarked = (value: unknown): value is string =>
  typeof value === 'string' && value[0] === 'm' && value[1] === '_';
const shift = (value: unknown): unknown => {
  if (Array.isArray(value) && isMarked(value[0])) return [`other ${value[0]}`, value[1]];
  return isMarked(value) ? `other ${value}` : value;
};

interface Outer {
  readonly list: string[];
  readonly map: Map<string, number>;
  readonly set: Set<string>;
  readonly text: string;
  readonly pairs: [string, number][];
  readonly object: object;
  readonly log: unknown[];
}

const outer = (): Outer => ({
  list: ['m_two', 'm_', 'm_three'],
  map: new Map([
    ['m_a', 2],
    ['m_bc', 4],
  ]),
  set: new Set(['m_five', 'm_eight']),
  text: 'own text',
  pairs: [['m_a', 2]],
  object: { a: 1, bc: 2 },
  log: [],
});

/** Programs in which the language looks something up, on what is made inside and on what comes from outside. */
const programs: Record<string, (x: Tensor, o: Outer) => unknown> = {
  'for of an array': (x, { list }) => {
    let y = x;
    for (const each of list) y = y.mul(each.length);
    for (const each of ['m_1', 'm_22']) y = y.add(each.length);
    return y;
  },
  'for of a Map': (x, { map }) => {
    let y = x;
    for (const [key, value] of map) y = y.mul(value).add(key.length);
    for (const [key, value] of new Map([['m_1', 2]])) y = y.mul(value).add(key.length);
    return y;
  },
  'for of a Set': (x, { set }) => {
    let y = x;
    for (const each of set) y = y.mul(each.length);
    for (const each of new Set(['m_3'])) y = y.mul(each.length);
    return y;
  },
  'for of iterators': (x, { list, map, set }) => {
    let y = x;
    for (const each of list.values()) y = y.add(each.length);
    for (const each of map.keys()) y = y.add(each.length);
    for (const each of set.values()) y = y.add(each.length);
    return [y, [...list.values()], list.values().next().value, set.values().next().value];
  },
  'for of a string': (x, { text }) => {
    let y = x;
    for (const letter of text) y = y.add(letter.length);
    return y;
  },
  'for of a generator': (x) => {
    const each = function* () {
      yield 'm_1';
      yield 'm_two';
    };
    let y = x;
    for (const n of each()) y = y.mul(n.length);
    return y;
  },
  'loops that are left': (x, { list, set }) => {
    let y = x;
    for (const each of list) {
      y = y.mul(each.length);
      break;
    }
    for (const each of set) {
      y = y.mul(each.length);
      break;
    }
    const [first] = list;
    return y.add(first!.length);
  },
  'spread, in calls and literals': (x, { list, set }) => {
    const sum = (...all: string[]) => {
      let total = 0;
      for (let i = 0; i < all.length; i++) total += all[i]!.length;
      return total;
    };
    return [x.mul(sum(...list, ...set)), [...list, ...set]];
  },
  destructuring: (x, { list, map }) => {
    const [a, ...rest] = list;
    const [[key, value] = ['', 0]] = map;
    return x.mul(a!.length).add(rest.length + key.length + value);
  },
  'collections filled from lists': (x, { list, pairs }) => {
    const [set, map] = [new Set(list), new Map(pairs)];
    return [x.mul(set.size), map.get('m_a'), map.get('other m_a'), set.has('m_'), Array.from(list)];
  },
  'methods that call back': (x, { list, map, set, log }) => {
    map.forEach((value, key) => {
      log[log.length] = [key, value];
    });
    set.forEach((value) => {
      log[log.length] = value;
    });
    const kept = list.filter((n) => n.length > 3).flatMap((n) => [n, n]);
    return [
      x.mul(2),
      kept.map((n) => n.length),
      list.toSorted((a, b) => a.length - b.length),
      list.reduce((sum, n) => sum + n.length, 0),
    ];
  },
  'short lists are sorted': (x, { list }) => [
    x.add(1),
    list.slice().sort((a, b) => b.length - a.length),
  ],
  'names are visited': (x, { object }) => {
    let y = x;
    for (const name in object) y = y.add(name.length);
    for (const name in { a: 1 }) y = y.add(name.length);
    return y;
  },
  'names are looked for': (x, { object }) => [
    x.add(1),
    'extra' in object,
    'extra' in { a: 1 },
    'extra' in [1],
    Object.hasOwn(object, 'extra'),
    (object as Record<string, unknown>).extra,
    ({ a: 1 } as Record<string, unknown>).extra,
  ],
  'values become text': (x, { list }) => [x.add(1), `${list}`, `${['m_1', [2]]}`],
  'texts are compared': (x, { list: [a, b] }) => [
    x.add(1),
    a === 'm_two',
    `${a}` < `${b}`,
    `${a}${b}`,
  ],
  'objects are copied': (x, { list, object }) => {
    const key = list[0]!;
    const made: Record<string, unknown> = { [key]: list[1], m_k: list[2] };
    made.m_l = 'm_v';
    const { m_k: taken, ...rest } = made;
    return [x.add(1), taken, rest, { ...made }, Object.assign({ m_z: 1 }, made), { ...object }];
  },
  'objects are listed': (x, { list }) => {
    const made = { [list[0]!]: 'm_v', m_k: 2 };
    return [x.add(1), Object.keys(made), Object.values(made), Object.entries(made)];
  },
  'objects become JSON': (x, { list }) => {
    const made = { [list[0]!]: 'm_v', m_k: [2, 'm_w'] };
    const seen: string[] = [];
    const parsed: unknown = JSON.parse('{"m_a":["m_b",1]}', (key, value: unknown) => {
      seen[seen.length] = key;
      return value;
    });
    return [x.add(1), JSON.stringify(made), JSON.stringify(made, ['m_k']), parsed, seen];
  },
  'arrays are written': (x, { list }) => {
    list[0] = 'm_first';
    list.length = 2;
    return [x.add(1), list];
  },
  'errors are made': (x) => {
    const error = new TypeError('no');
    return [x.add(1), `${error}`, error instanceof Error, error.name];
  },
  'rows of a tensor': (x) => {
    let y = x.sum();
    for (const row of x) y = y.add(row);
    return y;
  },
};

function shiftAll(values: readonly unknown[]): unknown[] {
  const all: unknown[] = [];
  for (let i = 0; i < values.length; i++) all[i] = shift(values[i]);
  return all;
}

type Replace = (original: Callable, log: unknown[]) => unknown;

const shifted: Replace = (original) =>
  function (this: unknown, ...args: unknown[]) {
    const result = apply(original, this, args) as { value: unknown; done: boolean };
    return { value: shift(result.value), done: result.done };
  };

const iteratesOther: Replace = (original) =>
  function (this: unknown) {
    const items: unknown[] = [];
    const iterator = apply(original, this, []) as Iterator<unknown>;
    for (let step = iterator.next(); !step.done; step = iterator.next()) {
      items[items.length] = shift(step.value);
    }
    return items.values();
  };

const shiftsFirst: Replace = (original) =>
  function (this: unknown, first: unknown, ...rest: unknown[]) {
    return apply(original, this, [shift(first), ...rest]);
  };

/** What stands on the prototypes meanwhile. */
const replacements: Record<string, [holder: object, key: PropertyKey, replace: Replace]> = {
  'next of array iterators': [arrayIterator, 'next', shifted],
  'next of Map iterators': [mapIterator, 'next', shifted],
  'next of Set iterators': [setIterator, 'next', shifted],
  'next of generators': [generator, 'next', shifted],
  'return of array iterators': [
    arrayIterator,
    'return',
    (_, log) =>
      function (this: Iterator<unknown>) {
        if (isMarked(this.next().value)) log[log.length] = 'left';
        return {};
      },
  ],
  'the iterator of arrays': [Array.prototype, Symbol.iterator, iteratesOther],
  'the iterator of Maps': [Map.prototype, Symbol.iterator, iteratesOther],
  'the iterator of Sets': [Set.prototype, Symbol.iterator, iteratesOther],
  'the iterator of strings': [
    String.prototype,
    Symbol.iterator,
    (original) =>
      function (this: unknown) {
        return isOwn(String(this)) ? ['abc'].values() : apply(original, this, []);
      },
  ],
  'the iterator of tensors': [
    Tensor.prototype,
    Symbol.iterator,
    () =>
      function (this: Tensor) {
        return [this.sum()].values();
      },
  ],
  'set of Maps': [Map.prototype, 'set', shiftsFirst],
  'add of Sets': [Set.prototype, 'add', shiftsFirst],
  'push of arrays': [Array.prototype, 'push', shiftsFirst],
  'entries of Maps': [Map.prototype, 'entries', iteratesOther],
  'entries of Sets': [Set.prototype, 'entries', iteratesOther],
  'call of functions': [
    Function.prototype,
    'call',
    (original) =>
      function (this: unknown, self: unknown, ...args: unknown[]) {
        return apply(original, this, [self, ...shiftAll(args)]);
      },
  ],
  'a name of every object': [Object.prototype, 'extra', () => 7],
  'a name of every array': [Array.prototype, 'extra', () => 8],
  'text of arrays': [
    Array.prototype,
    'toString',
    (original) =>
      function (this: unknown[]) {
        return isMarked(this[0]) ? 'text' : apply(original, this, []);
      },
  ],
  'join of arrays': [
    Array.prototype,
    'join',
    (original) =>
      function (this: unknown[], ...args: unknown[]) {
        return isMarked(this[0]) ? 'joined' : apply(original, this, args);
      },
  ],
  'a primitive of arrays': [
    Array.prototype,
    Symbol.toPrimitive,
    () =>
      function (this: unknown[]) {
        return isMarked(this[0]) ? 'primitive' : this.join();
      },
  ],
  'text of errors': [Error.prototype, 'toString', () => () => 'an error'],
  'the name of errors': [TypeError.prototype, 'name', () => 'AnotherError'],
};

function expectReplaced(
  program: (x: Tensor, o: Outer) => unknown,
  [holder, key, replace]: [object, PropertyKey, Replace],
): void {
  const captured = toStatic(program);
  const before = Object.getOwnPropertyDescriptor(holder, key);
  const run = (f: typeof program, isReplaced: boolean) => {
    const [x, o] = [tensor([1, 2, 3]), outer()];
    if (isReplaced) {
      const value = replace(before?.value as Callable, o.log);
      const enumerable = before?.enumerable ?? typeof value === 'number';
      Object.defineProperty(holder, key, { value, enumerable, configurable: true, writable: true });
    }
    let end: () => unknown;
    try {
      const result = f(x, o);
      end = () => [result, o];
    } catch (error) {
      end = () => error;
    } finally {
      if (before) Object.defineProperty(holder, key, before);
      else delete (holder as Holder)[key];
    }
    return outcome(end);
  };
  for (const isReplaced of [false, true, false, true, true]) {
    const expected = run(program, isReplaced);
    expect(run(captured, isReplaced), isReplaced ? 'replaced' : 'as it was').toEqual(expected);
  }
}

for (const [what, program] of Object.entries(programs)) {
  describe(what, () => {
    it.each(Object.keys(replacements))('%s', (name) => {
      expectReplaced(program, replacements[name]!);
    });
  });
}

it.each(['source', 'actual', 'traced'])(
  'all objects have a property %s, and graphs stay whole',
  (name) => {
    const prototype = Object.prototype as unknown as Record<string, unknown>;
    const captured = toStatic((x: Tensor, { list }: Outer) => x.mul(list.length).relu());
    prototype[name] = 'of all objects';
    try {
      const result = captured(tensor([1, -2]), outer());
      expect(result.toArraySync()).toEqual([3, 0]);
      expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
    } finally {
      delete prototype[name];
    }
  },
);
