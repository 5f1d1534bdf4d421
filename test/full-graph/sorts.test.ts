/** Short arrays whose order a run decides: by ranks, with the results of the language's own sort. */

import { describe, expect, it } from 'vitest';
import { memory, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { outcome } from './outcome.ts';
import { sameAsEager } from './suite.ts';

interface Item {
  readonly value: number;
  readonly row: Tensor;
}

const itemsOf = (x: Tensor): Item[] =>
  Array.from({ length: x.shape[0]! }, (_, i) => {
    const row = x.select(0, i);
    return { value: row.itemSync(), row };
  });

/** Every order of so many numbers, some of them equal. */
function orders(count: number): number[][] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((rest) =>
    Array.from({ length: count }, (_, i) => rest.toSpliced(i, 0, count >> 1)),
  );
}

const given = (numbers: readonly number[]) => () => [tensor(numbers).requiresGrad_()];

describe('sort by values of the program', () => {
  const sorts: Record<string, (x: Tensor) => unknown> = {
    objects: (x) => {
      const items = itemsOf(x);
      items.sort((a, b) => a.value - b.value);
      return items.map(({ row }, i) => row.mul(i + 1));
    },
    numbers: (x) =>
      itemsOf(x)
        .map(({ value }) => value)
        .sort((a, b) => b - a),
    tensors: (x) =>
      itemsOf(x)
        .map(({ row }) => row)
        .sort((a, b) => a.itemSync() - b.itemSync()),
    'three results of a comparator': (x) => {
      const order = (a: Item, b: Item) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0);
      return itemsOf(x)
        .toSorted(order)
        .map(({ row }, i) => row.pow(i));
    },
    'missing elements': (x) => {
      const items = [undefined, ...itemsOf(x), undefined];
      items.sort((a, b) => a!.value - b!.value);
      return items.map((item) => item?.row.mul(2));
    },
    'in a branch': (x) => {
      const items = itemsOf(x);
      if (x.sum().itemSync() > 6) items.sort((a, b) => a.value - b.value);
      return items.map(({ row }, i) => row.mul(i));
    },
  };
  const inputs = [...orders(4), [0, 1, 2, 3], [-0, 0, Number.POSITIVE_INFINITY, -1]].map(given);
  it.each(Object.entries(sorts))('%s', { timeout: 60_000 }, (_name, fn) => {
    for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
      const before = memory.stats('cpu').allocated;
      const graph = toStatic(fn, options);
      for (const make of inputs) {
        const [eager, captured] = tidy(() => [outcome(fn, make()), outcome(graph, make())]);
        expect(captured).toEqual(eager);
      }
      expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
      expect(memory.stats('cpu').allocated).toBe(before);
    }
  });

  it('of a pre-existing array leaves the same array', () => {
    const items = itemsOf(tensor([3, 1, 2]));
    const graph = toStatic(
      (weights: Tensor) => {
        items.sort((a, b) => a.row.mul(weights).itemSync() - b.row.mul(weights).itemSync());
        return weights.mul(2);
      },
      { fullGraph: true },
    );
    graph(tensor(1));
    expect(items.map(({ value }) => value)).toEqual([1, 2, 3]);
    graph(tensor(-1));
    expect(items.map(({ value }) => value)).toEqual([3, 2, 1]);
  });

  it('with a comparator that contradicts itself is what it is eagerly', () => {
    const fn = (x: Tensor) =>
      itemsOf(x)
        .sort((a, b) => a.value - b.value)
        .map(({ row }) => row);
    const graph = toStatic(fn, { fullGraph: true });
    const { NaN: nan } = Number;
    for (const numbers of [
      [3, 1, 2, 0],
      [3, nan, 2, 1],
      [nan, 3, 1, 2],
      [2, 1, nan, 0],
    ]) {
      const x = tensor(numbers);
      expect(graph(x).map((row) => row.itemSync())).toEqual(fn(x).map((row) => row.itemSync()));
    }
    expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1 });
  });

  it('calls a comparator that does more than compare as often as the language does', () => {
    const fn = (x: Tensor) => {
      let asked = 0;
      const items = itemsOf(x);
      items.sort((a, b) => {
        asked++;
        return a.value - b.value;
      });
      return [asked, items[0]!.row, items[1]!.row];
    };
    sameAsEager(fn, [given([1, 2]), given([2, 1])]);
  });
});
