/** A comparator may have visible effects, so it is called in the order in which the engine calls it. */

import { describe, expect, it } from 'vitest';
import { tensor, tidy, toStatic } from '../../../src/index.ts';

type Compare = (a: number, b: number) => number;

const sorts: Readonly<Record<string, (list: number[], compare: Compare) => number[]>> = {
  sort: (list, compare) => list.sort(compare),
  toSorted: (list, compare) => list.toSorted(compare),
};

const orders: Readonly<Record<string, (count: number) => number[]>> = {
  ascending: (count) => Array.from({ length: count }, (_, i) => i),
  descending: (count) => Array.from({ length: count }, (_, i) => -i),
  mixed: (count) => Array.from({ length: count }, (_, i) => (i * 37 + 11) % 101),
  'mixed after a descending run': (count) =>
    Array.from({ length: count }, (_, i) => (i < 3 ? 200 - i : (i * 53) % 17)),
};

describe.each(Object.keys(sorts))('%s', (name) => {
  it.each(Object.keys(orders))('compares as the engine does: %s', (order) => {
    for (const count of [2, 3, 4, 7, 8, 9, 63]) {
      tidy(() => {
        const log: string[] = [];
        const sort = sorts[name]!;
        const compare: Compare = (a, b) => {
          log.push(`${a},${b}`);
          return a - b;
        };
        const step = toStatic(
          (x: ReturnType<typeof tensor>, list: number[]) => x.mul(sort(list, compare)[0]!),
          { fullGraph: true },
        );
        const list = orders[order]!(count);
        step(tensor([1]), [...list]);
        const traced = log.splice(0);
        sort([...list], compare);
        expect(traced).toEqual(log);
      });
    }
  });
});
