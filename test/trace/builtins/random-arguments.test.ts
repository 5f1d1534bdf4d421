/** Places, counts and texts of all kinds, for methods of arrays and strings: eager execution is the oracle. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';
import { caught } from './world.ts';

const place = fc.oneof(
  fc.integer({ min: -6, max: 6 }),
  fc.constantFrom(undefined, null, Number.NaN, Infinity, -Infinity, 1.7, -1.2, '2', 'x', true, -0),
);
const item = fc.constantFrom<unknown>(1, 2, 3, 'a', '', null, undefined, Number.NaN, -0, true, 10);
/** `null` in the mask leaves a hole. */
const list = fc.array(fc.tuple(item, fc.boolean()), { maxLength: 6 }).map((items) => {
  const made = new Array<unknown>(items.length);
  items.forEach(([each, isThere], i) => {
    if (isThere || i % 3 === 0) made[i] = each;
  });
  return made;
});
const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', '7', ' ', 'é', '😀'), maxLength: 8 });

type Place = number;

/** Each method on a copy of its own, which is looked at afterwards. */
function ofLists(x: Tensor, items: unknown[], a: Place, b: Place, c: Place, each: unknown) {
  const y = x.mul(2);
  const own = () => items.slice();
  const [spliced, filled, copied, reversed, sorted] = [own(), own(), own(), own(), own()];
  const found = [
    items.slice(a, b),
    spliced.splice(a, b, each),
    spliced,
    filled.fill(each, a, b),
    copied.copyWithin(a, b, c),
    reversed.reverse(),
    sorted.sort(),
    items.toSorted(),
    items.toReversed(),
    items.toSpliced(a, b, each),
    items.at(a),
    items.indexOf(each, a),
    items.lastIndexOf(each, b),
    items.lastIndexOf(each),
    items.includes(each, a),
    items.flat(a),
    items.join(each as string),
    items.concat([each], items),
    `${items}`,
    [...items.entries()],
    Object.entries(items),
    items.map(String),
    items.filter(Boolean),
    JSON.stringify(items),
  ];
  return [y.add(1), found];
}

function ofTexts(x: Tensor, own: string, other: string, a: Place, b: Place) {
  const y = x.mul(2);
  const found = [
    [own.slice(a, b), own.substring(a, b), own.substr(a, b), own.at(a), own.charAt(a)],
    [own.indexOf(other, a), own.lastIndexOf(other, b), own.includes(other, a)],
    [own.startsWith(other, a), own.endsWith(other, b), own.split(other, a), own.split('')],
    caught(() => [own.padStart(a, other), own.padEnd(a, other), own.repeat(b)]),
    [own.replace(other, '<$&>'), own.trim()],
    own.replace(/[ab]/g, (letter, at: number) => `${letter}${at}`),
    own.match(/(a)|(?<b>b)/),
    [...own.matchAll(/[^a]/gu)].map((found) => found.index),
    own.split(/(-)/),
    [...own],
    Number(own),
    parseInt(own, a),
    // biome-ignore lint/suspicious/noDoubleEquals: under test
    [own < other, own == (a as never), own + a],
  ];
  return [y.add(1), found];
}

describe('with arguments of all kinds', () => {
  it('methods of arrays, with holes', () => {
    fc.assert(
      fc.property(list, place, place, place, item, (items, a, b, c, each) => {
        const { stats } = expectSameAsEager(
          () => ({
            fn: ofLists,
            args: () => [values([2]), items.slice(), a, b, c, each],
          }),
          { calls: 2 },
        );
        expect([stats.breaks, stats.fallbacks, stats.graphs]).toEqual([[], [], 1]);
      }),
      { numRuns: 25 },
    );
  });

  it('methods of strings', () => {
    fc.assert(
      fc.property(text, text, place, place, (own, other, a, b) => {
        const { stats } = expectSameAsEager(
          () => ({ fn: ofTexts, args: () => [values([2]), own, other, a, b] }),
          { calls: 2 },
        );
        expect([stats.breaks, stats.fallbacks, stats.graphs]).toEqual([[], [], 1]);
      }),
      { numRuns: 25 },
    );
  });
});
