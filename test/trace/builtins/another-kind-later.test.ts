/** Functions of JavaScript whose receiver or argument is of another kind in a later call, and globals that are deleted. */

import { expect, it } from 'vitest';
import { Independent, Normal } from '../../../runtime/distributions/index.ts';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

const expressions: Readonly<Record<string, (o: never) => unknown>> = {
  'valueOf, by call': (o) => typeof Object.prototype.valueOf.call(o),
  isPrototypeOf: (o) => Object.prototype.isPrototypeOf.call(o, []),
  'valueOf, by Reflect.apply': (o) => typeof Reflect.apply(Object.prototype.valueOf, o, []),
  'the tag of a typed array': (o) => {
    const above = Object.getPrototypeOf(Uint8Array.prototype) as object;
    return Object.getOwnPropertyDescriptor(above, Symbol.toStringTag)!.get!.call(o);
  },
  'the number of new elements': (o) => new Array(o).length,
  getPrototypeOf: (o) => Object.getPrototypeOf(o) === Array.prototype,
  'toString of an array, by call': (o) => Array.prototype.toString.call(o),
  'an instance': (o) => {
    const like = Object.setPrototypeOf({ batchShape: [2], eventShape: [] }, o) as Normal;
    return new Independent(like, 1).eventShape;
  },
  'toString, by call': (o) => Object.prototype.toString.call(o),
};

const typed = { length: 1, 0: 'a', join: Uint8Array.prototype.join };

const values = [
  typed,
  { a: 1 },
  null,
  3,
  new Uint8Array(1),
  undefined,
  new Float32Array(1),
  'text',
  [1],
  Math.abs,
  Normal.prototype,
];

it.each(Object.entries(expressions))('%s: as eagerly', (_name, expression) => {
  const fn = (x: Tensor, o: unknown) => {
    let result: unknown;
    try {
      result = expression(o as never);
    } catch (error) {
      result = (error as Error).name;
    }
    return [x.mul(2), result] as const;
  };
  const captured = toStatic(fn);
  const x = tensor([1]);
  for (const o of [...values, ...values.toReversed()]) {
    expect(captured(x, o)[1]).toEqual(fn(x, o)[1]);
  }
});

it('a global that is only forwarded or ignored may be deleted', () => {
  const holder = globalThis as { another?: number };
  const run = (text: string, wrap: <T>(fn: T) => T) => {
    holder.another = 2;
    const fn = wrap(new Function('x', text) as (x: Tensor) => unknown);
    const call = () => {
      try {
        return String(fn(tensor([1])));
      } catch (error) {
        return (error as Error).name;
      }
    };
    const results = [call()];
    delete holder.another;
    return [...results, call()];
  };
  for (const text of ['another; return x.mul(2).shape', 'return [x.mul(2).shape, another]']) {
    expect(run(text, (fn) => fn)[1]).toBe('ReferenceError');
    expect(run(text, (fn) => toStatic(fn as never))).toEqual(run(text, (fn) => fn));
  }
});

it.each([
  ['itself', '(function () { return this; }).call(o) === o'],
  ['of the same type', 'typeof Reflect.apply(function () { return this; }, o, [])'],
])('this of a sloppy function: %s, as eagerly', (_name, expression) => {
  const make = () => new Function('x', 'o', `return [x.mul(2), ${expression}];`);
  const [fn, captured] = [make(), toStatic(make() as (x: Tensor, o: unknown) => unknown[])];
  for (const o of [...values, globalThis, ...values.toReversed()]) {
    expect(captured(tensor([1]), o)[1]).toBe((fn(tensor([1]), o) as unknown[])[1]);
  }
});
