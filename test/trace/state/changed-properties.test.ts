/** Properties of objects that a trace has read, changed between calls: later calls must notice. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';
import { changing, getter, num, type Obj } from './changing.ts';

const cases: Record<string, () => World> = {
  'a property becomes a getter with effects, and back': changing(
    () => ({ object: { k: 2 }, fn: (x, o) => [x.mul(num(o.k)), o.k, o.k === 2] }),
    [
      (o, log) => getter(o, 'k', log, 2),
      () => {},
      (o, log) => getter(o, 'k', log, 3),
      (o) => Object.defineProperty(o, 'k', { value: 2, writable: true }),
    ],
  ),
  'a property that holds an object becomes a getter': changing(
    () => ({ object: { a: { b: 2 } }, fn: (x, o) => x.mul(num((o.a as Obj).b)) }),
    [
      (o, log) => getter(o, 'a', log, { b: 2 }),
      () => {},
      (o, log) => getter(o, 'a', log, { b: 3 }),
    ],
  ),
  'a tensor property becomes a getter': changing(
    () => ({ object: { t: values([2], 1) }, fn: (x, o) => x.mul(o.t as Tensor) }),
    [(o, log) => getter(o, 't', log, o.t), () => {}],
  ),
  'a missing property appears on the prototype as a getter': changing(
    () => ({
      object: Object.create({ y: 1 }) as Obj,
      fn: (x, o) => [x.add(1), o.missing, 'missing' in o, Object.hasOwn(o, 'missing')],
    }),
    [
      (o, log) => getter(Object.getPrototypeOf(o) as Obj, 'missing', log, 1),
      () => {},
      (o) => Object.setPrototypeOf(o, { missing: 5 }),
      (o) => {
        o.missing = undefined;
      },
    ],
  ),
  'an object is frozen, sealed, or its property read-only': () => {
    const object: Obj = { count: 1 };
    return {
      fn: (x: Tensor, o: Obj) => {
        try {
          o.count = num(o.count) + 1;
          o.added = 1;
        } catch (error) {
          return [x.mul(2), (error as Error).constructor.name, o.count, o.added];
        }
        return [x.mul(3), o.count];
      },
      args: (call: number) => {
        if (call === 2) Object.defineProperty(object, 'count', { writable: false });
        if (call === 3) Object.defineProperty(object, 'count', { writable: true });
        if (call === 4) {
          delete object.added;
          Object.preventExtensions(object);
        }
        if (call === 5) Object.freeze(object);
        return [values([2]), object];
      },
      state: () => object,
    };
  },
  'a written property becomes a setter': () => {
    const log: unknown[] = [];
    const object: Obj = { count: 1 };
    return {
      fn: (x: Tensor, o: Obj) => {
        o.count = x.mul(2);
        return x.add(1);
      },
      args: (call: number) => {
        if (call === 2) {
          Object.defineProperty(object, 'count', {
            set(value) {
              log.push(['set', value]);
            },
            get: () => 5,
            configurable: true,
          });
        }
        if (call === 4) {
          delete object.count;
          Object.setPrototypeOf(object, {
            set count(value: unknown) {
              log.push(['inherited', value]);
            },
          });
        }
        return [values([2]), object];
      },
      state: () => [log, Object.keys(object)],
    };
  },
  'zeros, NaN and keys that look alike': () => {
    const map = new Map<unknown, unknown>([
      [Number.NaN, 1],
      [0, 2],
      ['0', 3],
      [1, 4],
      [true, 5],
      [null, 6],
      [undefined, 7],
    ]);
    const zeros = [0, -0, Number.NaN, 0, -0, 1, Number.POSITIVE_INFINITY];
    return {
      fn: (x: Tensor, n: number) => [
        x.add(1),
        Object.is(n, -0),
        1 / n,
        map.get(n),
        map.get(-n),
        map.has(Number.NaN),
        map.get(String(n)),
        [0, Number.NaN].includes(n),
        [0, Number.NaN].indexOf(n),
        n === 0,
        Math.sign(n),
        `${n}`,
        { [n]: 1 },
        Math.max(n, 0),
        Math.min(n, 0),
        new Set([n, -n]).size,
        n || 'falsy',
        n ?? 'nullish',
      ],
      args: (call: number) => [values([2]), zeros[call]],
    };
  },
  'keys are deleted and added again, hidden and shown': changing(
    () => ({
      object: { a: 1, b: 2, 3: 3 },
      fn: (x, o) => [
        x.mul(num(o.a)),
        Object.keys(o),
        Object.entries(o).length,
        { ...o },
        JSON.stringify(o),
        (() => {
          const names: string[] = [];
          for (const name in o) names.push(name);
          return names;
        })(),
        Object.assign({}, o),
      ],
    }),
    [
      (o) => {
        const { a } = o;
        delete o.a;
        o.a = a;
      },
      (o) => Object.defineProperty(o, 'b', { enumerable: false }),
      (o) => {
        o[Symbol.for('s')] = 1;
      },
      (o) => Object.setPrototypeOf(o, { inherited: 1 }),
      (o, log) => getter(o, 'a', log, 1),
      (o) => {
        o['1'] = 1;
      },
    ],
  ),
  'two paths lead to one object, or to two': () => {
    const [one, two]: Obj[] = [{ n: 1 }, { n: 1 }];
    return {
      fn: (x: Tensor, a: Obj, b: Obj, c: { sub: Obj }) => {
        a.n = num(a.n) + 1;
        c.sub.m = num(b.n);
        b.n = num(b.n) * 2;
        return [x.mul(num(a.n)), a === b, a.m, b.m, c.sub === a];
      },
      args: (call: number) => {
        const [a, b, sub] = [
          [one, two, one],
          [one, two, one],
          [one, one, two],
          [two, two, two],
          [one, two, two],
          [one, two, {}],
        ][call % 6]!;
        return [values([2]), a, b, { sub }];
      },
      state: () => [one, two],
    };
  },
  'symbols as keys': () => {
    const [key, other] = [Symbol('key'), Symbol('other')];
    const object: Obj = { [key]: 2 };
    return {
      fn: (x: Tensor, o: Obj) => {
        const before = o[key];
        o[other] = x.mul(num(before));
        return [o[other], before, key in o, Object.getOwnPropertySymbols(o).length];
      },
      args: (call: number) => {
        if (call === 2) object[key] = 3;
        if (call === 3) delete object[other];
        return [values([2]), object];
      },
      state: () => [object[key], object[other]],
    };
  },
  'static state of a class': () => {
    class Counter {
      static count = 0;
      static step = 1;
      static next(): number {
        Counter.count += Counter.step;
        return Counter.count;
      }
    }
    return {
      fn: (x: Tensor) => [x.mul(Counter.next()), Counter.next(), Counter.count],
      args: (call: number) => {
        if (call === 3) Counter.step = 10;
        if (call === 4) Counter.next = () => 1;
        if (call === 5) delete (Counter as { count?: number }).count;
        return [values([2])];
      },
      state: () => Counter.count,
    };
  },
  'a deleted property shows what is inherited': () => {
    class Base {
      declare n: number;
    }
    Object.assign(Base.prototype, { n: 10 });
    const object = Object.assign(new Base(), { n: 1 });
    return {
      fn: (x: Tensor, o: Base) => {
        delete (o as { n?: number }).n;
        const inherited = o.n;
        o.n = inherited + 1;
        return [x.mul(inherited), Object.hasOwn(o, 'n'), o.n];
      },
      args: (call: number) => {
        if (call === 2) Object.assign(Base.prototype, { n: 20 });
        if (call === 3) Object.setPrototypeOf(object, { n: 30 });
        return [values([2]), object];
      },
      state: () => object.n,
    };
  },
};

describe('trace/changed-properties', () => {
  for (const [name, world] of Object.entries(cases)) {
    it(name, () => {
      expectSameAsEager(world, { calls: 7 });
    });
  }
});
