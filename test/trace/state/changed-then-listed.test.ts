/** Arrays and objects that a trace has changed, then everything that tells which elements and names they have. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
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

type Named = Record<string, unknown>;

/** Objects with a property that is not enumerable, and its key. */
const withHidden: Record<string, () => readonly [object: object, key: string]> = {
  'lastIndex of a RegExp': () => [/a(b)?/g, 'lastIndex'],
  'message of an error': () => [new RangeError('m'), 'message'],
  'a field of an instance': () => {
    class Layer {
      units = 3;
    }
    const define = { value: 1, writable: true, configurable: true };
    return [Object.defineProperty(new Layer(), 'cache', define), 'cache'];
  },
  'a property of an array': () => {
    const define = { value: 1, writable: true, configurable: true };
    return [Object.defineProperty([1, 2], 'label', define), 'label'];
  },
};

const namesListed = (o: Named): unknown[] => {
  const visited: string[] = [];
  for (const name in o) visited.push(name);
  const { units, ...rest } = o;
  return [
    visited,
    units,
    rest,
    { ...o },
    Object.keys(o),
    Object.values(o),
    Object.entries(o),
    Object.assign({}, o),
    JSON.stringify(o),
  ];
};

const writes: Record<string, (o: Named, key: string) => void> = {
  written: (o, key) => {
    o[key] = 5;
  },
  'written after a new one': (o, key) => {
    o.first = 1;
    o[key] = 5;
  },
  'deleted and written': (o, key) => {
    if (key !== 'lastIndex') delete o[key];
    o[key] = 5;
  },
};

/** What happens to the property between calls. */
const between: readonly ((o: Named, key: string) => void)[] = [
  () => {},
  (o, key) => Object.defineProperty(o, key, { value: 2, enumerable: true }),
  (o, key) => delete o[key],
  (o, key) => Object.defineProperty(o, key, { value: 2, enumerable: false, configurable: true }),
];

describe('a property that is not enumerable stays so', () => {
  for (const [name, make] of Object.entries(withHidden)) {
    it.each(Object.keys(writes))(`${name}, %s`, (how) => {
      for (const capture of ['whole', 'auto'] as const) {
        expectSameAsEager(
          () => {
            const [object, key] = make() as [Named, string];
            return {
              fn: (x: Tensor) => {
                writes[how]!(object, key);
                return [x.add(1), namesListed(object)];
              },
              args: (call) => {
                if (key !== 'lastIndex') between[(call >> 1) % between.length]!(object, key);
                return [values([2])];
              },
              state: () => {
                const { stack: _, ...properties } = Object.getOwnPropertyDescriptors(object);
                return properties;
              },
            };
          },
          { calls: 10, ...(capture === 'auto' && { capture }) },
        );
      }
    });
  }
});
