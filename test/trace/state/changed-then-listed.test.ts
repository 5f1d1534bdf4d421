/** Arrays that a trace has changed, then everything that tells which elements and names they have. */

import { describe, it } from 'vitest';
import { expectSameAsEager, values } from '../same-as-eager.ts';

type Items = unknown[];

class Stack extends Array<unknown> {
  label = 'stack';
}

/** One function is called with each of them: holes, names of their own, classes. */
const layouts: readonly (() => Items)[] = [
  () => [4, 1, 2, 3],
  // biome-ignore lint/suspicious/noSparseArray: what is tested
  () => [, 1, , 3],
  // biome-ignore lint/suspicious/noSparseArray: what is tested
  () => [, , ,],
  () => Object.assign([1, 2], { extra: 5, '-1': 6 }),
  () => Object.assign(Stack.of(2, 1), { 4: 7 }),
  () => [],
];

const changes = {
  'an element is appended': (a: Items) => a.push(9),
  'an element beyond the end is written': (a: Items) => {
    a[a.length + 2] = 9;
  },
  'the array gets longer': (a: Items) => {
    a.length += 2;
  },
  'the array gets shorter and is written again': (a: Items) => {
    a.length = 1;
    a[2] = 9;
  },
  'elements are removed and inserted': (a: Items) => {
    a.splice(1, 1);
    a.unshift(7);
  },
  'the last one is removed': (a: Items) => a.pop(),
  'elements are sorted': (a: Items) => a.sort(),
  'elements are reversed, one is appended': (a: Items) => a.reverse().push(8),
  'an element is deleted': (a: Items) => {
    a.push(1);
    delete a[1];
  },
  'elements are copied within': (a: Items) => a.copyWithin(1, 0, 2),
};

function listed(a: Items): unknown[] {
  const names: string[] = [];
  for (const name in a) names.push(name);
  const visited: unknown[] = [];
  a.forEach((each, i) => {
    visited.push(i, each);
  });
  return [
    names,
    visited,
    Object.keys(a),
    Object.values(a),
    Object.entries(a),
    [0, 1, 2, 3, 4].map((i) => [i in a, Object.hasOwn(a, i)]),
    { ...a },
    Object.assign([], a),
    a.indexOf(undefined),
    JSON.stringify(a),
  ];
}

describe('a changed array has the keys that it has eagerly', () => {
  it.each(Object.entries(changes))('%s', (_, change) => {
    for (const options of [{}, { capture: 'auto' }] as const) {
      expectSameAsEager(
        () => ({
          fn: (x, a: Items) => {
            change(a);
            return [x.mul(2), listed(a)];
          },
          args: (call) => [values([2]), layouts[call % layouts.length]!()],
        }),
        { calls: layouts.length, ...options },
      );
    }
  });
});
