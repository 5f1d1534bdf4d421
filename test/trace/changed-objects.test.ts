/** What a trace has read of ordinary objects, changed between calls: later calls must notice. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../src/index.ts';
import { expectSameAsEager, values, type World } from './same-as-eager.ts';

type Obj = Record<PropertyKey, unknown>;
const num = (value: unknown): number => value as number;

/** The world of a function of one tensor and one object, which changes before some calls. */
function changing(
  make: () => { object: Obj; fn: (x: Tensor, o: Obj) => unknown; log?: unknown[] },
  changes: readonly ((o: Obj, log: unknown[]) => void)[],
): () => World {
  return () => {
    const { object, fn, log = [] } = make();
    return {
      fn,
      args: (call) => {
        if (call >= 2) changes[call - 2]?.(object, log);
        return [values([2]), object];
      },
      state: () => log,
    };
  };
}

const getter = (o: Obj, key: PropertyKey, log: unknown[], value: unknown) =>
  Object.defineProperty(o, key, {
    get() {
      log.push('get');
      return value;
    },
    enumerable: true,
    configurable: true,
  });

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
  'a method is patched on the prototype, on the instance, and removed': changing(() => {
    class Model {
      scale(x: Tensor): Tensor {
        return x.mul(2);
      }
    }
    return { object: new Model() as unknown as Obj, fn: (x, o) => (o as never as Model).scale(x) };
  }, [
    (o) => {
      (Object.getPrototypeOf(o) as Obj).scale = (x: Tensor) => x.mul(3);
    },
    (o) => {
      o.scale = (x: Tensor) => x.mul(4);
    },
    (o) => {
      delete o.scale;
    },
    (o) => {
      Object.setPrototypeOf(o, { scale: (x: Tensor) => x.mul(5) });
    },
    (o) => {
      Object.setPrototypeOf(o, null);
    },
  ]),
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
  'instanceof is redefined, or a prototype replaced': () => {
    function Old(this: Obj) {}
    class Type {}
    const object = new Type();
    return {
      fn: (x: Tensor, o: object) => [x.add(1), o instanceof Type, o instanceof (Old as never)],
      args: (call: number) => {
        if (call === 2) Object.setPrototypeOf(object, null);
        if (call === 3) Object.setPrototypeOf(object, Old.prototype as object);
        if (call === 4) Old.prototype = {};
        if (call === 5) Object.defineProperty(Type, Symbol.hasInstance, { value: () => true });
        return [values([2]), object];
      },
    };
  },
  'a Proxy or another kind of object comes later': () => {
    const log: string[] = [];
    const plain: Obj = { k: 2, list: [1] };
    const proxy = new Proxy(plain, {
      get(target, key) {
        log.push(`get ${String(key)}`);
        return target[key];
      },
      ownKeys(target) {
        log.push('keys');
        return Reflect.ownKeys(target);
      },
    });
    return {
      fn: (x: Tensor, o: Obj) => [x.mul(num(o.k)), Object.keys(o), (o.list as number[]).length],
      args: (call: number) => [
        values([2]),
        [
          plain,
          plain,
          proxy,
          { k: 2, list: 'a' },
          [3],
          {
            get k() {
              log.push('k');
              return 2;
            },
            list: [],
          },
        ][call],
      ],
      state: () => log,
    };
  },
  'methods of the host are replaced for some calls': () => {
    const { log10 } = Math;
    const { findLast } = Array.prototype;
    return {
      fn: (x: Tensor, n: number) => [
        x.mul(Math.log10(100)),
        [n, 2].findLast((each) => each > 0),
        Math.log10(n),
      ],
      args: (call) => [values([2]), call + 1],
      install: (fn) => {
        let call = 0;
        return (...args: unknown[]) => {
          const at = call++;
          if (at === 3) Math.log10 = () => 5;
          if (at === 5) Array.prototype.findLast = (() => 7) as never;
          try {
            return fn(...args) as unknown;
          } finally {
            Math.log10 = log10;
            Array.prototype.findLast = findLast;
          }
        };
      },
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
  'toString, valueOf and toJSON of the user': changing(
    () => ({
      object: { n: 2 },
      fn: (x, o) => [x.add(1), `${String(o)}`, JSON.stringify({ o }), num(o) * 2, `${o as never}`],
    }),
    [
      (o) => {
        o.toString = () => 'text';
      },
      (o) => {
        o.valueOf = () => 21;
      },
      (o) => {
        o.toJSON = () => 'json';
      },
      (o) => {
        o[Symbol.toPrimitive] = () => 4;
      },
    ],
  ),
  'a regular expression keeps its place': () => {
    const re = /a/g;
    return {
      fn: (x: Tensor, text: string) => [x.add(1), re.test(text), re.lastIndex, text.match(/a/g)],
      args: () => [values([2]), 'banana'],
      state: () => re.lastIndex,
    };
  },
  'arguments are left out, undefined, or more': () => ({
    fn: (x: Tensor, n = 2, { k = 3, ...rest }: Obj = {}, ...more: number[]) => [
      x.mul(n).add(num(k)),
      rest,
      more.length,
    ],
    args: (call: number) =>
      [
        [values([2])],
        [values([2]), undefined, { k: undefined, z: 1 }],
        [values([2]), null, { k: null }],
        [values([2]), 3, {}, 1, 2],
        [
          values([2]),
          3,
          {
            k: 3,
            get z() {
              return 9;
            },
          },
        ],
        [values([2])],
      ][call] as unknown[],
  }),
};

describe('trace/changed-objects', () => {
  for (const [name, world] of Object.entries(cases)) {
    it(name, () => {
      expectSameAsEager(world, { calls: 7 });
    });
  }
});
