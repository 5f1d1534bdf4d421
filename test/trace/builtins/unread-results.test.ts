/** What throws for some values throws in a later call that passes one, although the result is not read. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: expressions are evaluated for every kind of value.
type Anything = any;
type Drop = (x: Tensor, o: Anything) => void;

class Owner {
  #field = 1;
  #method() {
    return this.#field;
  }
  static readonly drops: Readonly<Record<string, Drop>> = {
    'a private field': (_, o) => void o.#field,
    'a private method': (_, o) => void o.#method,
    'a call of a private method': (_, o) => void o.#method(),
    'a private name in': (_, o) => void (#field in o),
  };
}
const throwing = () => {
  throw new Error('user code');
};
const text = { toString: throwing };

/** The value of most calls, and values for which some expression throws. */
const ofObjects: Readonly<Record<string, Drop>> = {
  ...Owner.drops,
  in: (_, o) => void ('a' in o),
  'a property': (_, o) => void o.a,
  'a property of a property': (_, o) => void o.a.b,
  'a call': (_, o) => void o.m(),
  'new of a property': (_, o) => void new o.C(),
  destructuring: (_, o) => {
    const { a: _a, ...rest } = o;
    void rest;
  },
  'a spread': (_, o) => void { ...o },
  'a list': (_, o) => void [...o.list],
  'a key': (_, o) => void { [o.a]: 1 },
  'a template': (_, o) => void `${o.a}`,
  'a number': (_, o) => void +o.a,
  'a comparison': (_, o) => void (o.a < 1),
  'an instance': (x, o) => void (x instanceof o.C),
  'a deleted property': (_, o) => void delete o.a,
  'a written property': (_, o) => {
    o.a = 2;
  },
  'a new element': (_, o) => void o.list.push(1),
  'no new element': (_, o) => void o.list.splice(),
  'repeated text': (_, o) => void 'a'.repeat(o.a),
  digits: (_, o) => void (1).toFixed(o.a),
  'a BigInt': (_, o) => void BigInt(o.a),
  'a parsed text': (_, o) => void JSON.parse(o.a),
};
class Usual extends Owner {
  a: unknown = 1;
  m = () => 1;
  C: unknown = Object;
  list: unknown = [1];
}
const usual = (changes: Partial<Usual> = {}) => Object.assign(new Usual(), changes);
const others: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  'a number': () => 1,
  'another object': () => ({ ...usual() }),
  'a getter': () => Object.defineProperty(usual(), 'a', { get: throwing, set: throwing }),
  'a frozen object': () => Object.freeze(usual({ list: Object.freeze([1]) })),
  'no property': () => usual({ a: null }),
  'a property that is no number': () => usual({ a: text }),
  'a symbol': () => usual({ a: Symbol() }),
  'a large number': () => usual({ a: 1e300 }),
  'a fraction': () => usual({ a: -0.5 }),
  'a broken text': () => usual({ a: '{' }),
  'other functions': () => usual({ m: throwing, C: throwing, list: 1 }),
  'no functions': () => usual({ m: 1 as never, C: 1 }),
};

/** Compares calls with these values, one after the other. */
function expectSameOutcomes(drop: Drop, values: readonly (() => unknown)[], why: string): void {
  const fn = (x: Tensor, o: unknown) => {
    drop(x, o);
    return x.mul(2);
  };
  const outcomes = (run: typeof fn) =>
    values.map((make) => {
      try {
        return run(tensor([1]), make()).toArraySync();
      } catch (error) {
        return (error as Error).name;
      }
    });
  expect(outcomes(toStatic(fn)), why).toEqual(outcomes(fn));
}

describe('a result that is not read', () => {
  it.each(Object.entries(ofObjects))('of %s', (_, drop) => {
    for (const [name, other] of Object.entries(others)) {
      expectSameOutcomes(drop, [usual, other, usual], name);
    }
  });

  it.each([
    [Map, () => new Map([[1, 2]])],
    [Set, () => new Set([1])],
    [Date, () => new Date(5)],
  ])('of a method of %o', ({ prototype }: Anything, make) => {
    const created = () => Object.create(prototype);
    const wrong = [() => new Map(), () => new Set(), () => new Date(Number.NaN), created];
    for (const key of Reflect.ownKeys(prototype)) {
      const { value, get } = Object.getOwnPropertyDescriptor(prototype, key)!;
      const method = value ?? get;
      if (key === 'constructor') continue;
      const drop: Drop = (_, o) => void method.call(o, () => 1);
      expectSameOutcomes(drop, [make, ...wrong, make], String(key));
    }
  });
});
