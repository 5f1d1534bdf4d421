/** What `slice(k)` takes of an array that grows with every call: one trace serves every length. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World } from '../same-as-eager.ts';
import { pushed, row } from './pushed.ts';

const programs: Record<string, () => World> = {
  joined: pushed((cache, x) => {
    cache.push(x.mul(2));
    return cat([x, ...cache.slice(1)]);
  }),
  'taken before the next element, and pushed to': pushed((cache, x) => {
    const rest = cache.slice(1);
    cache.push(x.mul(2));
    return rest.length > 0 ? stack(rest).sum().add(rest.length) : x;
  }),
  'gone over': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (const each of cache.slice(1)) sum = sum.mul(0.5).add(each);
    return sum;
  }),
  forEach: pushed((cache, x) => {
    cache.push(x.mul(2));
    const all = [x];
    for (const each of cache.slice(1)) all.push(each.neg());
    return cat(all);
  }),
  mapped: pushed((cache, x) => {
    cache.push(x.mul(2));
    return cat([x, ...cache.slice(1).map((each) => each.mul(3))]);
  }),
  reduced: pushed((cache, x) => {
    cache.push(x.mul(2));
    return cache.slice(1).reduce((sum, each) => sum.mul(0.5).add(each), x);
  }),
  'reduced from the first one': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cache.slice(1).reduce((sum, each) => sum.mul(0.5).add(each));
  }),
  'of a copy': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cat([...[...cache].slice(1), x]).add(cache.length);
  }),
};

describe.each([{}, { fullGraph: true }])('a slice of an array that grows %o', (options) => {
  it.each(Object.entries(programs))('%s', (name, make) => {
    const seeded = (): World => {
      const world = make();
      const cache = world.state?.() as Tensor[];
      cache.push(row(20), row(21));
      return world;
    };
    const { stats } = expectSameAsEager(seeded, { calls: 9, ...options });
    expect(stats.translations).toBeLessThanOrEqual(name === 'of a copy' ? 9 : 4);
    expect(stats.breaks).toEqual([]);
  });
});

it('a number that is computed from a length is tested by its sign alone', () => {
  const { stats } = expectSameAsEager(
    pushed((cache, x) => {
      cache.push(x);
      if (cache.length - 3) return x.mul(2);
      return cat(cache);
    }),
    { calls: 9 },
  );
  expect(stats.translations).toBeLessThanOrEqual(4);
});
