/** What objects do rather than hold (methods, prototypes, conversions), changed between calls: later calls must notice. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';
import { changing, num, type Obj } from './changing.ts';

const searches: Record<string, (re: RegExp) => unknown> = {
  test: (re) => re.test('caab'),
  exec: (re) => re.exec('caab')?.[0],
  replace: (re) => 'caab'.replace(re, 'xyz'),
  match: (re) => 'caab'.match(re)?.length,
  split: (re) => 'caab'.split(re).length,
  search: (re) => 'caab'.search(re),
  flags: (re) => re.source + re.flags,
  text: (re) => String(re),
  'new RegExp': (re) => new RegExp(re).source,
};

/** One object all the time: nothing that is read of it says that another text is found. */
function changingPattern(search: (re: RegExp) => unknown, flags: string): World {
  const re = new RegExp('a', flags);
  const changes = [
    () => re.compile('b', flags),
    () => re.compile('A', 'gi'),
    () => Object.assign(re, { exec: findsOnce() }),
    () => Object.assign(re, { exec: RegExp.prototype.exec, [Symbol.replace]: () => 'by hand' }),
    () => Object.setPrototypeOf(re, { __proto__: RegExp.prototype, exec: findsOnce() }),
  ];
  return {
    fn: (x: Tensor, expression: RegExp) => [x.add(1), search(expression)],
    args: (call: number) => {
      changes[call - 2]?.();
      return [values([2]), re];
    },
    state: () => re.lastIndex,
  };
}

/** An `exec` of the user's; a global search ends with its second call. */
function findsOnce(): () => string[] | null {
  let calls = 0;
  return () => (calls++ % 2 === 0 ? ['zz'] : null);
}

const cases: Record<string, () => World> = {
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
  ...Object.fromEntries(
    Object.entries(searches).flatMap(([method, search]) =>
      ['', 'g'].map((flags) => [
        `a regular expression of flags '${flags}' gets another pattern, methods and prototype: ${method}`,
        () => changingPattern(search, flags),
      ]),
    ),
  ),
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

describe('trace/changed-behaviour', () => {
  for (const [name, world] of Object.entries(cases)) {
    it(name, () => {
      expectSameAsEager(world, { calls: 7 });
    });
  }
});
