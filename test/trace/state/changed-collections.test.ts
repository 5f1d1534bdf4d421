/** Arrays, Maps and iterators that a trace has read, changed between calls: later calls must notice. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';
import { changing, type Obj } from './changing.ts';

const cases: Record<string, () => World> = {
  'an array gets an iterator of its own': changing(
    () => ({
      object: { list: [1, 2] },
      fn: (x, o) => {
        let sum = 0;
        for (const each of o.list as number[]) sum += each;
        return [x.mul(sum), Math.max(...(o.list as number[])), [...(o.list as number[])]];
      },
    }),
    [
      (o) => {
        Object.defineProperty(o.list as object, Symbol.iterator, {
          *value() {
            yield 7;
          },
          configurable: true,
        });
      },
      (o) => {
        delete (o.list as Obj)[Symbol.iterator];
      },
      (o) => {
        Object.setPrototypeOf(o.list, class extends Array {}.prototype);
      },
    ],
  ),
  'holes come and go': changing(() => {
    const list = [1, 2, 3];
    return {
      object: { list },
      fn: (x, o) => {
        const items = o.list as number[];
        const seen: unknown[] = [];
        items.forEach((each, i) => {
          seen.push([i, each]);
        });
        return [
          x.add(items.length),
          items[1],
          1 in items,
          seen,
          items.map((each) => each * 2),
          items.indexOf(undefined as never),
          items.includes(undefined as never),
          items.join(),
          Object.keys(items),
          items.slice(),
          items.concat([4]),
          items.flat(),
          items.reduce((a, b) => a + b, 0),
          items.every((each) => each !== undefined),
          items.findIndex((each) => !each),
          [...items],
          items.at(-2),
          items.lastIndexOf(3),
        ];
      },
    };
  }, [
    (o) => {
      delete (o.list as unknown[])[1];
    },
    () => {},
    (o) => {
      (o.list as unknown[])[1] = undefined;
    },
    (o) => {
      (o.list as unknown[]).length = 5;
    },
    (o) => {
      (o.list as Obj).extra = 1;
    },
  ]),
  'a Map gets another order, and patched methods': () => {
    const map = new Map([
      ['a', 1],
      ['b', 2],
    ]);
    return {
      fn: (x: Tensor, m: Map<string, number>) => {
        const order: unknown[] = [];
        for (const [key, value] of m) order.push(key, value);
        m.forEach((value, key) => {
          order.push(key + value);
        });
        return [x.mul(m.get('a') ?? 9), order, [...m.keys()], m.size];
      },
      args: (call: number) => {
        if (call === 2) {
          map.delete('a');
          map.set('a', 1);
        }
        if (call === 3) map.set('a', 5);
        if (call === 4) map.get = () => 11;
        if (call === 5) {
          delete (map as { get?: unknown }).get;
          Object.setPrototypeOf(
            map,
            class extends Map {
              override get() {
                return 12;
              }
            }.prototype,
          );
        }
        return [values([2]), map];
      },
      state: () => [...map.entries()],
    };
  },
  'a long list is sorted, its comparator seen working': () => {
    const log: number[] = [];
    return {
      fn: (x: Tensor, list: number[]) => {
        const sorted = list.toSorted((a, b) => {
          log.push(a);
          return a - b;
        });
        list.sort((a, b) => {
          log.push(b);
          return b - a;
        });
        return [x.mul(sorted[0]!), sorted, list];
      },
      args: (call: number) => {
        const length = call === 1 ? 5 : 100;
        return [values([2]), Array.from({ length }, (_, i) => (i * 37) % 101)];
      },
      state: () => log,
    };
  },
  'an own method of an array, a function with an own call': () => {
    const list: number[] & { map?: unknown } = [1, 2];
    const double = (n: number) => 2 * n;
    return {
      fn: (x: Tensor) => [x.mul(double.call(null, 2)), list.map((each: number) => each + 1)],
      args: (call: number) => {
        if (call === 2) list.map = () => ['own'] as never;
        if (call === 3) (double as unknown as Obj).call = () => 9;
        return [values([2])];
      },
    };
  },
  'generators and iterators that were begun outside': () => {
    const log: unknown[] = [];
    function* numbers() {
      try {
        yield 1;
        yield 2;
        yield 3;
      } finally {
        log.push('closed');
      }
    }
    return {
      fn: (x: Tensor, it: Iterator<number>, list: Iterable<number>) => {
        const first = it.next().value as number;
        const rest: number[] = [];
        for (const each of list) {
          rest.push(each);
          if (each === 2) break;
        }
        return [x.mul(first), rest, it.next()];
      },
      args: (call: number) => {
        const begun = numbers();
        if (call > 1) begun.next();
        return [values([2]), begun, call === 3 ? [5, 2, 6] : numbers()];
      },
      state: () => log,
    };
  },
};

describe('trace/changed-collections', () => {
  for (const [name, world] of Object.entries(cases)) {
    it(name, () => {
      expectSameAsEager(world, { calls: 7 });
    });
  }
});
