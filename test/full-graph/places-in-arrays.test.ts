/** Methods of short arrays that are told a place, or a number of elements, by a number of the program. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { outcome } from './outcome.ts';

const numbers = [-5, -2, -0.5, 0, 1.7, 2, 3, 9, Number.NaN, Number.POSITIVE_INFINITY];
const entries = (x: Tensor) => [x, x.mul(2), x.mul(3)];
/** All of a list as one number: results have one length. */
const told = (list: readonly number[]) => list.reduce((all, each) => all * 10 + each, 0);
const sumOf = (list: readonly Tensor[]) =>
  list.reduce((all, each, i) => all.add(each.mul(i + 1)), tensor([0]));

describe('places of arrays that a run decides', () => {
  const cases: Record<string, (x: Tensor, n: number) => unknown> = {
    'splice of numbers': (_x, n) => {
      const list = [1, 2, 3, 4];
      return [list.splice(n, 1).length, list];
    },
    'splice of tensors, with others put in': (x, n) => {
      const list = entries(x);
      const removed = list.splice(n, 2, x.sin(), x.cos());
      return [removed.length, list.length, list];
    },
    'splice of objects': (x, n) => {
      const list = entries(x).map((row, i) => ({ row, i }));
      const removed = list.splice(n, 1);
      return [removed.length, list.length, list[0]!.row, list[1]!.i];
    },
    'splice of so many elements': (_x, n) => {
      const list = [1, 2, 3];
      return [list.splice(1, n).length, list];
    },
    'slice, from and to': (x, n) => [sumOf(entries(x).slice(n)), sumOf(entries(x).slice(0, n))],
    'a loop over the indices of a slice, which may be empty': (x, n) => {
      const some = entries(x).slice(0, n);
      let sum = x;
      for (let i = 0; i < some.length; i++) sum = sum.add(some[i]!);
      return sum;
    },
    'toSpliced and fill': (_x, n) => [
      told([1, 2, 3].toSpliced(n, 1, 7, 8)),
      told([1, 2, 3].fill(0, n)),
    ],
    copyWithin: (_x, n) => told([1, 2, 3, 4].copyWithin(n, 1, 3)),
    'indexOf and includes from there': (_x, n) => [[1, 2, 1].indexOf(1, n), [1, 2].includes(2, n)],
  };
  it.each(Object.entries(cases))('%s', { timeout: 60_000 }, (_name, ofNumber) => {
    const fn = (x: Tensor) => ofNumber(x, x.select(0, 0).itemSync());
    for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
      const graph = toStatic(fn, options);
      for (const n of numbers) {
        const make = () => [tensor([n])];
        const [eager, captured] = tidy(() => [outcome(fn, make()), outcome(graph, make())]);
        expect(captured, String(n)).toEqual(eager);
      }
      expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
    }
  });

  it.each<[string, (x: Tensor) => Tensor]>([
    [
      'a for…of loop',
      (x) => {
        let sum = x;
        for (const row of entries(x).slice(0, x.select(0, 0).itemSync())) sum = sum.add(row);
        return sum;
      },
    ],
    [
      'a destructuring',
      (x) => {
        const [first = x, second = first] = entries(x).slice(0, x.select(0, 0).itemSync());
        return first.add(second);
      },
    ],
  ])('%s over an array of several lengths is refused by name', (_, fn) => {
    expect(() => toStatic(fn, { fullGraph: true })(tensor([2]))).toThrow(
      /a loop or a destructuring iterates over an array whose length depends on the path/,
    );
    const graph = toStatic(fn, { capture: 'auto' });
    for (const n of [2, 0, 3]) {
      expect(graph(tensor([n])).toArraySync()).toEqual(fn(tensor([n])).toArraySync());
    }
  });
});
