/** Property keys that the language, or its own objects, treat otherwise than others. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

const keys = [
  '__proto__',
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'length',
  'name',
  'prototype',
  'then',
  'get',
  '',
  '0',
  '01',
  '-0',
  '-1',
  '4294967294',
  '4294967295',
];

type Made = Record<string, unknown>;

/** Each makes an object with the key, around ops, so that it crosses graphs or is made again by a run. */
const makers: Readonly<Record<string, (x: Tensor, key: string, text: string) => unknown>> = {
  'a computed literal': (x, key) => ({ a: x.mul(2), [key]: x.mul(3), b: 1 }),
  'a computed method': (x, key) => {
    const made: Made = {
      [key]() {
        return x.mul(2);
      },
    };
    return [Object.keys(made), typeof made[key], x.mul(3)];
  },
  parsed: (x, _key, text) => [JSON.parse(text), x.mul(2)],
  'parsed and spread': (x, _key, text) => ({ ...(JSON.parse(text) as Made), x: x.mul(2) }),
  'parsed, without one': (x, _key, text) => {
    const { k, ...rest } = JSON.parse(text) as Made;
    return [k, rest, x.mul(2)];
  },
  'parsed, without it': (x, key, text) => {
    const { [key]: value, ...rest } = JSON.parse(text) as Made;
    return [value, rest, x.mul(2)];
  },
  assigned: (x, key) => {
    const made: Made = { first: x.mul(2) };
    made[key] = 5;
    made.last = 6;
    return made;
  },
  'assigned by Object.assign': (x, _key, text) =>
    Object.assign({ x: x.mul(2) }, JSON.parse(text) as Made),
  'from entries': (x, key) => Object.fromEntries([['a', 1] as const, [key, x.mul(2)] as const]),
  'of a class': (x, key) => {
    class Holder {
      x = x.mul(2);
    }
    const made = new Holder() as unknown as Made;
    Object.defineProperty(made, key, { value: 7, enumerable: true, configurable: true });
    return [Object.keys(made), key in made, made];
  },
  'without a prototype': (x, key) => {
    const made = Object.create(null) as Made;
    made[key] = 1;
    made.x = x.mul(2);
    return [Object.keys(made), key in made, Object.values(made)];
  },
  deleted: (x, key) => {
    const made: Made = { a: x.mul(2), [key]: 3 };
    const was = delete made[key];
    return [was, Object.keys(made), Object.hasOwn(made, key), made];
  },
  counted: (x, key) => {
    const counts: Record<string, number> = {};
    for (const word of ['a', key, 'a', key]) counts[word] = ((counts[word] as number) || 0) + 1;
    return [counts, x.mul(2)];
  },
  'in a Map': (x, key) => {
    const map = new Map<string, unknown>([[key, x.mul(2)]]);
    map.set('b', 1);
    return [map, map.has(key), [...map.keys()]];
  },
  'of an array': (x, key) => {
    const items: unknown[] = [1, 2];
    if (key === 'length' || key === '__proto__' || key.startsWith('42949')) return x.mul(2);
    (items as unknown as Made)[key] = 'other';
    return [items, items.length, x.mul(2)];
  },
  printed: (x, key) => [JSON.stringify({ a: [1], [key]: { [key]: 2 } }), x.mul(2)],
  listed: (x, key) => {
    const seen: string[] = [];
    for (const name in { z: 1, [key]: 2, 5: 3 }) seen.push(name);
    return [seen, x.mul(2)];
  },
};

/** An instance leaves the graph, an array gets a named property, a function is converted to text. */
const breaking = new Set(['of a class', 'of an array', 'counted']);

/** What plain comparison of objects doesn't see. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const isPlain = [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value));
  if (!isPlain) return Object.prototype.toString.call(value);
  return Object.entries(Object.getOwnPropertyDescriptors(value)).map(([name, each]) => [
    name,
    each.enumerable,
    each.writable,
    shapeOf(each.value),
  ]);
}

describe.each(Object.keys(makers))('an object %s', (name) => {
  it.each(keys)('with the key "%s"', (key) => {
    const make = makers[name]!;
    const text = `{ "k": 1, ${JSON.stringify(key)}: { "inner": 2 } }`;
    const seen: unknown[] = [];
    const { stats } = expectSameAsEager(() => {
      const fn = (x: Tensor) => make(x.add(1), key, text);
      return {
        fn,
        args: () => [values([3])],
        install: (run) => (x: Tensor) => {
          const made: unknown = run(x);
          seen.push(shapeOf(made));
          return made;
        },
      };
    });
    expect(seen.length).toBe(6);
    expect(seen.every((each) => JSON.stringify(each) === JSON.stringify(seen[0]))).toBe(true);
    expect(stats.graphs).toBeGreaterThan(0);
    if (!breaking.has(name)) expect(stats.breaks).toEqual([]);
  });
});
