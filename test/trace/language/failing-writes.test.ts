/** Assignments and deletions that fail, in strict code with the engine's error, in sloppy code without one. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';
import { expectOneGraph } from './every-mode.ts';

/** The names that the bodies take from around them. */
const outer = {
  frozen: Object.freeze({ a: 1, t: weights([3], 4), list: Object.freeze([1, 2]) }),
  fixed: Object.defineProperty({ open: 1 }, 'a', { value: 2 }),
  getter: Object.freeze({
    get a() {
      return 3;
    },
  }),
  inheriting: Object.freeze(Object.create({ a: 4 })) as { a: number },
  setting: Object.freeze(
    Object.create({
      set a(value: number) {
        outer.log.push(value);
      },
    }),
  ) as { a: number },
  named: Object.freeze(new (class Named {})()),
  bare: Object.freeze(Object.create(null)) as object,
  array: Object.freeze([1, 2, 3]),
  call: Object.freeze(function named() {}),
  log: [] as unknown[],
};

const sites = {
  'a frozen property': 'frozen.a = x',
  'a frozen tensor': 'frozen.t = x',
  'a property that a frozen object lacks': 'frozen.b = 1',
  'an element of a frozen array': 'frozen.list[0] = 5',
  'an element behind a frozen array': 'array[7] = 5',
  'the length of a frozen array': 'array.length = 0',
  'a computed key': 'frozen["a" + ""] += 2',
  'a symbol': 'frozen[Symbol.iterator] = 1',
  'a property that is read-only alone': 'fixed.a++',
  'a getter without setter': 'getter.a = 1',
  'a property above a frozen object': 'inheriting.a = 1',
  'a setter above a frozen object': 'setting.a = 5',
  'an instance': 'named.a = 1',
  'an object without prototype': 'bare.a = 1',
  'a frozen function': 'call.a = 1',
  'the name of a function': 'call.name = "other"',
  'a deletion': 'delete frozen.a',
  'a deletion of what is not there': 'delete frozen.none',
  'a deletion of a read-only property': 'delete fixed.a',
  'an object that is frozen here': 'const o = Object.freeze({ a: 1 }); o.a = 2',
  'a new property of one that is sealed here': 'const o = Object.seal({ a: 1 }); o.a = 2; o.b = 3',
  'a deletion from one that is sealed here': 'const o = Object.seal({ a: 1 }); delete o.a',
  'an array that is frozen here': 'const o = Object.freeze([1, 2]); o[1] = 2',
  'an element that one lacks': 'const o = Object.freeze([1, 2]); o[2] = 2',
  'methods of a frozen array': 'array.push(1, x)',
  'methods that take elements out of one': 'array.pop()',
  'methods that move elements of one': 'frozen.list.unshift(x)',
  'methods of an array that is frozen here': 'const o = Object.freeze([x, 2]); o.push(x)',
  'splice of one that is frozen here': 'const o = Object.freeze([x, 2]); o.splice(0, 1, x)',
  'fill and reverse of one that is frozen here':
    'const o = Object.freeze([x, 2]); o.reverse().fill(x)',
  'a read-only property that is defined here':
    'const o = Object.defineProperty({}, "a", { value: 1, configurable: true }); o.a = 2',
  'an accessor without setter, made here': 'const o = { get a() { return 1; } }; o.a = 2',
} as const;

const made = (site: string, strict: boolean) => {
  const names = Object.keys(outer);
  const text = `${strict ? '"use strict";' : ''} return (x) => {
    let y = x.mul(2), said = 'nothing';
    try { ${site}; y = y.add(1); } catch (error) { said = error.name + ': ' + error.message; y = y.mul(3); }
    return [y.add(frozen.a), said];
  };`;
  return new Function(...names, text)(...Object.values(outer)) as (x: Tensor) => unknown;
};

describe.each([true, false])('in code that is strict: %s', (strict) => {
  it.each(Object.entries(sites))('%s', (_name, site) => {
    const make = (): World => ({
      fn: made(site, strict),
      args: () => [weights([3])],
      state: () => outer.log.splice(0),
    });
    expectOneGraph(make);
  });
});

it('another object in the place of a frozen one is written', () => {
  const make = (): World => ({
    fn: (x: Tensor, o: { n: number }) => {
      try {
        o.n++;
      } catch (error) {
        return [x.mul(o.n), (error as Error).message];
      }
      return x.add(o.n);
    },
    args: (call) => [weights([3]), [Object.freeze({ n: 1 }), { n: 1 }, { n: 2 }][call % 3]],
  });
  const { captured } = expectSameAsEager(make, { calls: 6 });
  expect(captured.stats().breaks).toEqual([]);
});

it('an error that nothing catches leaves the function', () => {
  const make = (): World => ({
    fn: (x: Tensor) => {
      const y = x.mul(2);
      (outer.frozen as { a: number }).a = 2;
      return y;
    },
    args: () => [weights([3])],
  });
  expectSameAsEager(make);
});
