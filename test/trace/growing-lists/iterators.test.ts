/** Iterators that reached the end of a collection remain there: returned, after a graph break, and when it grows. */

import { describe, it } from 'vitest';
import { stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager } from '../same-as-eager.ts';
import { row } from './pushed.ts';

/** They grow in every call, but for the last. */
const collections = () => {
  const list: Tensor[] = [];
  const set = new Set<Tensor>();
  const map = new Map<number, Tensor>();
  return {
    'values of an array': { grow: (x: Tensor) => list.push(x), iterate: () => list.values() },
    'entries of an array': { grow: (x: Tensor) => list.push(x), iterate: () => list.entries() },
    'values of a Set': { grow: (x: Tensor) => set.add(x), iterate: () => set.values() },
    'entries of a Map': {
      grow: (x: Tensor) => map.set(map.size, x),
      iterate: () => map.entries(),
    },
    'values of an array made inside': inside(),
  };
};

function inside() {
  let list: Tensor[] = [];
  const iterate = () => {
    list = [row(1), row(2)];
    return list.values();
  };
  return { grow: (x: Tensor) => list.push(x), iterate };
}

type Each = IterableIterator<Tensor | [number, Tensor]>;
const last = (each: Tensor | [number, Tensor]) => (Array.isArray(each) ? each[1] : each);

const visits: Readonly<Record<string, (each: Each, x: Tensor) => Tensor>> = {
  'a loop': (each, x) => {
    let sum = x;
    for (const element of each) sum = sum.add(last(element));
    return sum;
  },
  'a copy': (each, x) => stack([x, ...[...each].map(last)]).sum(),
  'a first element, and a loop': (each, x) => {
    let sum = x.add(last(each.next().value));
    for (const element of each) sum = sum.add(last(element));
    return sum;
  },
};

describe.each(Object.keys(collections()) as (keyof ReturnType<typeof collections>)[])(
  'an iterator of the %s',
  (name) => {
    it.each(Object.entries(visits))('after %s', (_, visit) => {
      for (const [breaks, grows] of [
        [false, false],
        [true, false],
        [false, true],
        [true, true],
      ]) {
        expectSameAsEager(
          () => {
            const { grow, iterate } = collections()[name];
            return {
              fn: (x: Tensor) => {
                grow(x.mul(2));
                const each = iterate();
                const sum = visit(each, x);
                const read = breaks ? sum.exp().sum().itemSync() : 0;
                if (grows) grow(x.mul(3));
                return [sum, read, breaks ? [...each] : each, each];
              },
              args: (call) => [row(call)],
              install: (fn) => (x) => {
                const [sum, read, rest, each] = fn(x);
                grow(x);
                return [sum, read, [...rest], [...each]];
              },
            };
          },
          { calls: 4 },
        );
      }
    });
  },
);
