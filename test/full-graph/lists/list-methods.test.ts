/** The methods of arrays that have grown in loops of the program. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import type { Never } from '../paths-taken.ts';
import { sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
/** No iteration, one, two (twice), three, four. */
const starts = [
  [60, 70],
  [30, 40],
  [15, 14],
  [5, 9],
  [5, 2],
  [14, 15],
];
const inputs = starts.map((start) => () => [x(...start)]);

/** Doubles of `x` until they are large. */
const doubles = (x: Tensor): Tensor[] => {
  const all: Tensor[] = [];
  let y = x;
  while (y.sum().itemSync() < 100) {
    y = y.mul(2);
    all.push(y);
  }
  return all;
};

/** And their sums. */
const sums = (x: Tensor): number[] => {
  const all: number[] = [];
  let y = x;
  while (y.sum().itemSync() < 100) {
    y = y.mul(2);
    all.push(y.sum().itemSync());
  }
  return all;
};

const gone = 'no callback takes elements away';
const asked = 'the iteration itself asks whether there is one';
const never: Readonly<Record<string, readonly Never[]>> = {
  slice: [
    ['second branch', 'doubles(x).slice(0, 2)', gone],
    ['second branch', 'doubles(x).slice(-2, -1)', gone],
    ['many iterations', 'doubles(x).slice(-2, -1)', 'it has one element'],
  ],
  reverse: [['second branch', 'doubles(x).reverse()', gone]],
  toReversed: [['second branch', 'sums(x).toReversed()', gone]],
  unshift: [['no iteration', 'all.unshift(', 'two are given']],
  splice: [['no iteration', 'all.splice(', asked]],
  'indexOf and includes': [
    ['no iteration', 'sums(x).indexOf(56)', asked],
    ['no iteration', 'sums(x).includes(140)', asked],
    ['no iteration', 'sums(x).indexOf(1)', asked],
  ],
  sort: [
    ['second branch', 'b % 100', gone],
    ['second branch', 'a % 100', gone],
  ],
  toSorted: [
    ['second branch', 'Math.sin(a)', gone],
    ['second branch', 'Math.sin(b)', gone],
  ],
  'sort of objects': [['second branch', 'doubles(x).map(', gone]],
  'map with an index, flatMap, findLast and every': [
    ['second branch', 'all.map(', gone],
    ['second branch', 'all.flatMap(', gone],
    ['no iteration', 'all.findLast(', asked],
    ['no iteration', 'all.findIndex(', asked],
    ['no iteration', 'all.every(', asked],
  ],
  'Array.from': [['no iteration', 'Array.from(', asked]],
  destructuring: [['no iteration', '...rest]', asked]],
};

describe('methods of a grown array', () => {
  it.each<[string, (x: Tensor) => unknown]>([
    ['slice', (x) => [doubles(x).slice(1), doubles(x).slice(0, 2), doubles(x).slice(-2, -1)]],
    ['slice at a number of the program', (x) => doubles(x).slice(x.argmax().itemSync())],
    ['concat', (x) => [x].concat(doubles(x), x.mul(3), doubles(x).slice(1), [x])],
    ['reverse', (x) => doubles(x).reverse()],
    ['toReversed', (x) => sums(x).toReversed()],
    [
      'shift',
      (x) => {
        const all = doubles(x);
        const first = all.shift();
        return [first?.mul(2) ?? x, all, all.length];
      },
    ],
    [
      'unshift',
      (x) => {
        const all = doubles(x);
        return [all.unshift(x, x.mul(5)), all];
      },
    ],
    [
      'splice',
      (x) => {
        const all = doubles(x);
        const removed = all.splice(1, 2, x, x.mul(7));
        return { all, removed };
      },
    ],
    ['fill', (x) => sums(x).fill(7, 1)],
    [
      'indexOf and includes',
      (x) => [sums(x).indexOf(56), sums(x).includes(140), sums(x).indexOf(1)],
    ],
    ['sort', (x) => sums(x).sort((a, b) => (b % 100) - (a % 100))],
    ['toSorted', (x) => sums(x).toSorted((a, b) => Math.sin(a) - Math.sin(b))],
    [
      'sort of objects',
      (x) => {
        const all = doubles(x).map((h) => ({ h, score: Math.sin(h.sum().itemSync()) }));
        all.sort((a, b) => a.score - b.score);
        return all;
      },
    ],
    [
      'map with an index, flatMap, findLast and every',
      (x) => {
        const all = sums(x);
        return [
          all.map((each, i) => each * i),
          all.flatMap((each) => [each, -each]),
          all.findLast((each) => each < 100) ?? 0,
          all.findIndex((each) => each > 50),
          all.every((each) => each > 20),
        ];
      },
    ],
    ['Array.from', (x) => Array.from(doubles(x), (each) => each.mul(2))],
    [
      'destructuring',
      (x) => {
        const [first = x, ...rest] = doubles(x);
        return [first.mul(2), rest];
      },
    ],
  ])('%s', (name, f) => {
    sameAsEager(f, inputs, { exact: false, never: never[name] ?? [] });
  });
});

describe('methods that a grown array lacks', () => {
  it.each<[string, (x: Tensor) => unknown, RegExp]>([
    ['join', (x) => sums(x).join(), /join\(\) of an array that grows in a loop of the program/],
    ['with', (x) => sums(x).with(0, 1), /with\(\) of an array that grows in a loop of the program/],
    ['flat', (x) => sums(x).flat(), /flat\(\) of an array that grows in a loop of the program/],
    [
      'sort as text',
      (x) => sums(x).sort(),
      /sort\(\) of an array that grows .* without a comparison/,
    ],
  ])('%s', (_name, f, reason) => {
    const graph = toStatic(f, { fullGraph: true });
    expect(() => tidy(() => graph(tensor([1, 2])))).toThrow(reason);
  });

  it('tells tensors in it not apart by identity', () => {
    const graph = toStatic(
      (x: Tensor) => {
        const all = [x, ...doubles(x)];
        return all.includes(x);
      },
      { fullGraph: true },
    );
    expect(() => tidy(() => graph(tensor([1, 2])))).toThrow(/by identity/);
  });
});
