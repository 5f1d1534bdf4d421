/** Keys that are -0, which Maps and Sets keep as 0, wherever the number comes from. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';

interface State {
  readonly set: Set<number>;
  readonly map: Map<number, number>;
}

/** How the code comes to its number; that of the argument is -0 in every other call. */
const sources: Readonly<Record<string, (x: Tensor, k: number) => number>> = {
  'a constant': () => -0,
  'an argument that changes': (_x, k) => k,
  'computed from an argument': (_x, k) => k * 2,
  'read from a tensor': (x) => x.sum().itemSync() * 0,
  'rounded, from a tensor': (x) => Math.round(x.sum().itemSync() * 0.01),
};

/** What is done with it. Everything that shows a key is divided by, which tells the zeros apart. */
const uses: Readonly<Record<string, (state: State, key: number) => readonly unknown[]>> = {
  'a pre-existing Set': ({ set }, key) => {
    set.add(key);
    return [...set].map((each) => 1 / each);
  },
  'a pre-existing Map': ({ map }, key) => {
    map.set(key, key);
    const seen: number[] = [];
    map.forEach((value, each) => {
      seen.push(1 / each, 1 / value);
    });
    return [...seen, map.get(-key), map.has(key)];
  },
  'a Set made inside': (_state, key) => {
    const made = new Set([5]).add(key);
    return [made, [...made.values()].map((each) => 1 / each), made.has(-key)];
  },
  'a Map made inside, from entries': (_state, key) => {
    const made = new Map([[key, 1]]);
    made.set(-key, 2);
    return [made, [...made.keys()].map((each) => 1 / each), made.size];
  },
  'deleted and set again': ({ set, map }, key) => {
    set.add(0).delete(key);
    map.set(-0, 1).delete(key);
    set.add(key);
    return [set.size, map.size, 1 / [...set].at(-1)!];
  },
};

describe.each(Object.entries(sources))('-0 as a key, %s', (_name, source) => {
  it.each(Object.entries(uses))('of %s', (_kind, use) => {
    const make = (): World => {
      const state = { set: new Set([3]), map: new Map([[3, 4]]) };
      return {
        fn: (x: Tensor, k: number) => {
          const key = source(x, k);
          const seen = use(state, key);
          return [x.mul(2), 1 / key, seen];
        },
        args: (call) => [values([3], call).abs().neg(), [-0, 1, -0, 0, 2, -0][call]],
        state: () => state,
      };
    };
    for (const mode of [{}, { capture: 'auto' }] as const) {
      expectSameAsEager(make, { calls: 6, ...mode });
    }
  });
});
