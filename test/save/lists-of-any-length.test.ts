/** Lists of tensors whose length changes from call to call: a file serves every length of the calls so far. */

import { expect, it } from 'vitest';
import { cat, load, save, stack, Tensor, tensor, toStatic } from '../../src/index.ts';

type Step = (cache: Tensor[], x: Tensor) => unknown;

const row = (first: number) => tensor([[first, -first, first / 3]]);
const rows = (length: number) => Array.from({ length }, (_, i) => row(i + 1));

const described = (value: unknown): unknown => {
  if (value instanceof Tensor) return value.toArraySync();
  if (Array.isArray(value)) return value.map(described);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).map(([key, each]) => [key, described(each)]);
};

const steps: Readonly<Record<string, Step>> = {
  joined: (cache, x) => cat(cache).mul(x),
  'joined with another tensor': (cache, x) => cat([...cache, x]),
  'copied with another tensor': (cache, x) => [...cache, x.mul(2)],
  'concatenated with other tensors': (cache, x) => cache.concat([x.mul(2), x], x.neg()),
  'copied, joined and counted': (cache, x) => {
    const all = [...cache, x.mul(2)];
    all.push(x);
    return { all, sum: stack(all).sum(), count: all.length };
  },
  'mapped and summed up': (cache, x) =>
    cat(cache.map((each) => each.mul(x))).add(cache.reduce((all, each) => all.add(each), x)),
  'gone over by a loop': (cache, x) => {
    let [sum, weight] = [x, 1];
    for (const each of cache) sum = sum.mul(0.5).add(each.mul(weight++));
    return { sum, weight };
  },
  'gone over by index, and collected': (cache, x) => {
    const all = [x];
    for (let i = 0; i < cache.length; i++) all.push(cache[i]!.mul(i).add(x));
    return { all: cat(all), count: all.length };
  },
  'copied as it is': (cache, x) => [[...cache], x.exp()],
};

it.each(Object.entries(steps))('%s', async (_, step) => {
  const captured = toStatic(step);
  for (const length of [1, 2, 4, 3]) captured(rows(length), row(7));
  const loaded = (await load(await save(captured))) as unknown as Step;
  for (const length of [3, 1, 4, 2]) {
    const cache = rows(length);
    const result = loaded(cache, row(8));
    expect(described(result)).toEqual(described(step(cache, row(8))));
    // The tensors of a copy are those of the list.
    const copy = [result].flat(2).find((each) => each === cache[0]);
    if (Array.isArray(result)) expect(copy).toBe(cache[0]);
  }
  expect(() => loaded(rows(6), row(8))).toThrow('remedy:');
});
