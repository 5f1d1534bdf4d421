/** The language's own functions, replaced by the user between calls, where functions call them by name. */

import { describe, expect, it } from 'vitest';
import { cat, crossEntropy, nn, stack, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import {
  apply,
  type Callable,
  defineProperty,
  expectCompilerUntouched,
  type Holder,
  isOwn,
  mine,
  outcome,
} from './replaced.ts';

expectCompilerUntouched();

function whileReplaced<T>(holder: object, key: PropertyKey, body: () => T): T {
  const before = Object.getOwnPropertyDescriptor(holder, key)!;
  const original = before.value as Callable;
  const value: Callable = function (...args) {
    let isMeant = isOwn(this);
    for (let i = 0; i < args.length; i++) isMeant ||= isOwn(args[i]);
    return isMeant ? 'replaced' : apply(original, this, args);
  };
  Object.defineProperty(holder, key, { ...before, value });
  try {
    return body();
  } finally {
    defineProperty(holder, key, before);
  }
}

/** The function as it is, while it is another one, and as it is again: on fresh arguments each time. */
function expectNoticed(
  fn: (x: Tensor, ...args: never[]) => unknown,
  makeArgs: () => unknown[],
  replaced: (body: () => unknown) => unknown,
): void {
  const captured = toStatic(fn as Callable);
  const run = (f: Callable, isReplaced: boolean) => {
    const args = [tensor([1, 2, 3]), ...makeArgs()];
    const call = () => {
      try {
        const result = f(...args);
        return () => [result, args];
      } catch (error) {
        return () => error;
      }
    };
    return outcome((isReplaced ? replaced(call) : call()) as () => unknown);
  };
  for (const isReplaced of [false, true, false, true]) {
    const expected = run(fn as Callable, isReplaced);
    expect(run(captured, isReplaced), isReplaced ? 'replaced' : 'as it was').toEqual(expected);
  }
}

const receivers: Record<string, { holder: object; make: () => unknown; args?: unknown[] }> = {
  array: { holder: Array.prototype, make: () => mine([3, 1, 2]) },
  string: { holder: String.prototype, make: () => 'own text' },
  number: { holder: Number.prototype, make: () => 0.4375 },
  map: { holder: Map.prototype, make: () => mine(new Map([[1, 2]])) },
  set: { holder: Set.prototype, make: () => mine(new Set([1, 2])) },
  Math: { holder: Math, make: () => Math, args: [0.4375] },
  Object: { holder: Object, make: () => Object, args: [mine({ a: 1 })] },
  Number: { holder: Number, make: () => Number, args: [0.4375] },
  Array: { holder: Array, make: () => Array, args: [mine([1, 2])] },
  Reflect: { holder: Reflect, make: () => Reflect, args: [mine({ a: 1 }), 'a'] },
  JSON: { holder: JSON, make: () => JSON, args: [mine({ a: 1 })] },
};

/** Random, or about the realm. */
const left = new Set(['constructor', 'random', 'toLocaleString', 'localeCompare']);

for (const [name, { holder, make, args = [] }] of Object.entries(receivers)) {
  const keys = Object.getOwnPropertyNames(holder).filter(
    (key) =>
      !left.has(key) && typeof Object.getOwnPropertyDescriptor(holder, key)!.value === 'function',
  );
  describe(`methods of ${name}`, () => {
    it.each(keys)('%s', (key) => {
      const fn = (x: Tensor, object: Record<string, Callable>, ...given: unknown[]) => {
        const y = x.mul(2);
        const result = object[key]!(...given);
        return [y, result];
      };
      expectNoticed(
        fn as never,
        () => [make(), ...args],
        (body) => whileReplaced(holder, key, body),
      );
    });
  });
}

describe('in full graphs, functions in the place of built-in ones are followed', () => {
  const cases: Record<string, [holder: object, use: (k: number) => unknown]> = {
    ...Object.fromEntries(
      Object.getOwnPropertyNames(Math)
        .filter((key) => key !== 'random' && typeof Math[key as 'abs'] === 'function')
        .map((key) => [key, [Math, (k: number) => Math[key as 'abs'](k)]]),
    ),
    stringify: [JSON, (k) => JSON.stringify(k)],
    isInteger: [Number, (k) => Number.isInteger(k)],
    toFixed: [Number.prototype, (k) => k.toFixed(2)],
    keys: [Object, (k) => Object.keys(k)],
  };
  it('what is traced in place of built-in functions calls the original ones', () => {
    const { max } = Math;
    const fn = (x: Tensor) => [
      x.mul(2),
      Array.prototype.slice.call({ length: 7003, 7001: 'a', 7002: 'b' }, -2),
      Math.max(7001, 0),
    ];
    const expected = fn(tensor([1]));
    for (const options of [{}, { fullGraph: true }]) {
      const captured = toStatic(fn, options);
      for (const replaced of [
        max,
        (...args: number[]) => (args[0] === 7001 ? 7002 : max(...args)),
      ]) {
        Math.max = replaced;
        try {
          const [y, end] = expected;
          const results = [y, end, replaced(7001, 0)];
          expect(outcome(() => captured(tensor([1])))).toEqual(outcome(() => results));
        } finally {
          Math.max = max;
        }
      }
    }
  });

  it.each(Object.entries(cases))('%s', (key, [holder, use]) => {
    const calls = { count: 0 };
    const original = (holder as Holder)[key] as Callable;
    // Only the test's own number, since the package calls some of these functions, too.
    const counting = function (this: unknown, ...args: unknown[]): unknown {
      if (args[0] !== 0.4375 && this !== 0.4375) return apply(original, this, args);
      calls.count++;
      return 7;
    };
    const fn = (x: Tensor, k: number) => [x.mul(2), use(k), calls.count];
    const captured = toStatic(fn, { fullGraph: true });
    for (const replacement of [original, counting, counting, original]) {
      const [eager, traced] = [fn, captured].map((f) => {
        calls.count = 0;
        (holder as Holder)[key] = replacement;
        try {
          return f(tensor([1, 2]), 0.4375);
        } finally {
          (holder as Holder)[key] = original;
        }
      });
      expect(outcome(() => [traced, calls.count])).toEqual(outcome(() => [eager, calls.count]));
    }
    expect(captured.stats()).toMatchObject({ breaks: [] });
  });
});

it.each([1, 'text', null, {}, [1], () => 1])('objects inherit %s under some name', (extra) => {
  const model = new nn.Sequential(new nn.Linear(3, 2), new nn.LayerNorm(2));
  const fn = (row: Tensor) => {
    const x = stack([row, row.mul(2)]);
    const y = model.forward(x);
    crossEntropy(y, y.argmax(1)).backward();
    return [y, x.std(0), x.mean(1, { keepDim: true }), cat([x, x.narrow(0, 1, 1)])];
  };
  expectNoticed(
    fn as never,
    () => [],
    (body) => {
      defineProperty(Object.prototype, 'extra', {
        value: extra,
        enumerable: true,
        configurable: true,
      });
      try {
        return body();
      } finally {
        delete (Object.prototype as Holder).extra;
      }
    },
  );
});
