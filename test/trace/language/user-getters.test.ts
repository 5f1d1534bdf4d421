/** Getters of the user's run where the code reads the property, and nowhere else: tracing asks objects nothing by itself. */

import { describe, expect, it } from 'vitest';
import { withCaptureSession } from '../../../src/1-capture/capture.ts';
import { type Tensor, tensor, zeros } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

// biome-ignore lint/suspicious/noExplicitAny: the forms take every kind of object.
type Anything = any;

const kinds: Readonly<Record<string, () => object>> = {
  'an object': () => ({ a: 1 }),
  'an object without a prototype': () => Object.assign(Object.create(null), { a: 1 }),
  'an array': () => [1, 2],
  'a Map': () => new Map([[1, 2]]),
  'a Set': () => new Set([1, 2]),
  'a function': () => (x: unknown) => x,
  'a class': () => class Named {},
  'a Float32Array': () => new Float32Array([1, 2]),
  'a Date': () => new Date(5),
  'an error': () => new RangeError('given'),
};

const keys = [
  ...[Symbol.toStringTag, Symbol.toPrimitive, Symbol.iterator, 'constructor', 'length', 'name'],
  ...['then', 'toJSON', 'valueOf', 'size', 'shape', 'dtype', 'a'],
] as const;

const uses: Readonly<Record<string, (o: Anything, x: Tensor) => unknown>> = {
  'as text': (o) => String(o).length > 0,
  'its tag': (o) => Object.prototype.toString.call(o),
  'as a number': (o) => +o,
  'a property': (o) => o.a,
  'its keys': (o) => Object.keys(o).length,
  'a copy': (o) => Object.keys({ ...o }).length,
  elements: (o) => [...o].length,
  'a first element': (o) => {
    const [first] = o;
    return typeof first;
  },
  'its type': (o) => [Array.isArray(o), typeof o, o instanceof Map, o instanceof Error],
  'in a list': (o) => [[o].includes(o), [o].concat([o]).length],
  'own names': (o) => Reflect.ownKeys(o).length,
  'its prototype': (o) => Object.getPrototypeOf(o) === Object.prototype,
  thrown: (o) => {
    try {
      throw o;
    } catch (error) {
      return error === o;
    }
  },
  'returned in an object': (o) => ({ o }).o === o,
  'as sizes': (o, x) => (Array.isArray(o) ? null : zeros(o).add(x.sum())),
  'as values': (o, x) => (Array.isArray(o) ? null : tensor(o).add(x.sum())),
};

/** Gives the object, or a prototype of its own, getters that log, and read what there was. */
function watched(object: object, isOwn: boolean): { readonly object: object; log: string[] } {
  const log: string[] = [];
  const above = Object.getPrototypeOf(object) as object | null;
  const holder = isOwn ? object : (Object.create(above) as object);
  for (const key of keys) {
    const before: unknown = Reflect.get(object, key);
    if (Object.getOwnPropertyDescriptor(holder, key)?.configurable === false) continue;
    const get = () => {
      log.push(String(key));
      return before;
    };
    Object.defineProperty(holder, key, { get, configurable: true, enumerable: true });
  }
  if (!isOwn) Object.setPrototypeOf(object, holder);
  return { object, log };
}

describe('trace/language/user-getters', () => {
  for (const [what, use] of Object.entries(uses)) {
    it(`run as often as in eager execution: ${what}`, () => {
      withCaptureSession(() => {
        for (const kind of Object.values(kinds)) {
          for (const isOwn of [true, false]) {
            const make = () => {
              const { object, log } = watched(kind(), isOwn);
              const fn = (x: Tensor) => {
                const y = x.mul(2);
                let seen: unknown;
                try {
                  seen = use(object, y);
                } catch (error) {
                  seen = error instanceof TypeError ? 'TypeError' : 'another error';
                }
                return [y, seen];
              };
              return { fn, args: () => [values([2, 3])], state: () => log };
            };
            expectSameAsEager(make, { calls: 1 });
          }
        }
      });
    });
  }

  it('an error has the own `stack` that it has in eager execution', () => {
    const looks: readonly ((error: Error) => unknown)[] = [
      (error) => Object.hasOwn(error, 'stack'),
      (error) => 'stack' in error,
      (error) => Reflect.ownKeys(error).sort().join(),
      (error) => Object.getOwnPropertyDescriptor(error, 'stack')?.enumerable,
      (error) => Object.keys({ ...error }).length,
    ];
    for (const look of looks) {
      const fn = (x: Tensor) => {
        const error = new RangeError('made');
        return [x.mul(2), look(error)];
      };
      expectSameAsEager(() => ({ fn, args: () => [values([2, 3])] }));
    }
    expect(looks.length).toBe(5);
  });

  it('`toJSON` of a function is called', () => {
    const fn = (x: Tensor) => {
      const f = Object.assign(() => x, { toJSON: (key: string) => `as ${key}` });
      return [x.mul(2), JSON.stringify(f), JSON.stringify([f, () => x]), JSON.stringify({ f })];
    };
    expectSameAsEager(() => ({ fn, args: () => [values([2, 3])] }));
  });
});
