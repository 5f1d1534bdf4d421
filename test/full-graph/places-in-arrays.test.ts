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
    'destructuring what splice removes': (x, n) => {
      const list = entries(x);
      const [row = x, second, ...rest] = list.splice(n, 2);
      return [row.add(1), second ?? x.exp(), rest.length, list.length, list];
    },
    'destructuring with elisions, and an assignment': (x, n) => {
      const object = { row: x };
      [, object.row = x.sin()] = entries(x).slice(n);
      return object.row;
    },
    'destructuring in a loop of the program': (x, n) => {
      let [sum, i] = [x, n];
      while (i < 2) {
        const [row = x.cos()] = entries(x).slice(i);
        sum = sum.add(row);
        i++;
      }
      return sum;
    },
    'for…of, over rows and entries': (x, n) => {
      let sum = x;
      for (const [i, row] of entries(x).slice(0, n).entries()) sum = sum.add(row.mul(i));
      for (const row of entries(x).slice(n)) sum = sum.mul(row);
      return sum;
    },
    'for…of with break, continue and a decision inside': (x, n) => {
      let sum = x;
      for (const row of entries(x).slice(n)) {
        if (row.sum().itemSync() > 5) break;
        if (row.sum().itemSync() < -3) continue;
        sum = sum.add(row);
      }
      return sum;
    },
    'for…of with return': (x, n) => {
      for (const row of entries(x).slice(n)) {
        if (row.sum().itemSync() > 1) return row.neg();
      }
      return x.sin();
    },
    'for…in over objects of several keys': (x, n) => {
      let [sum, text] = [x, ''];
      for (const key in n > 1 ? { a: 2 } : { b: 1, c: 5 }) {
        sum = sum.add(key.charCodeAt(0));
        text += key;
      }
      return [sum, text === 'a'];
    },
    'for…of over a Set or a list': (x, n) => {
      let sum = x;
      for (const each of n > 1 ? new Set([3, 4]) : [5]) sum = sum.add(each);
      return sum;
    },
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
});
