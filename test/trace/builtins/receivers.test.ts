/** Methods of JavaScript, called on values that have no such method: they throw, or read what they find. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

type AnyFunction = (...args: unknown[]) => unknown;

const typed = Object.getPrototypeOf(Uint8Array.prototype) as object;
const prototypes = [typed, Array.prototype, Map.prototype, Set.prototype, Date.prototype];
prototypes.push(RegExp.prototype, ArrayBuffer.prototype, DataView.prototype, WeakMap.prototype);

const isExcluded = (name: string) => /Locale|constructor/.test(name);

const methods = prototypes.flatMap((prototype) =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .map(([name, { value, get }]) => [name, (value ?? get) as unknown] as const)
    .filter(([name, fn]) => typeof fn === 'function' && !isExcluded(name))
    .map(
      ([name, fn]) => [prototype === typed ? `typed ${name}` : name, fn as AnyFunction] as const,
    ),
);

const joined = () => 'joined';

const receivers = (): unknown[] => [
  new Uint8Array([3, 1]),
  new Date(5),
  new Map([['a', 1]]),
  { length: 1, 0: 'q' },
  new DataView(new ArrayBuffer(2)),
  {},
  new Float32Array(1),
  Object.create(Uint8Array.prototype),
  [2, 1],
  { join: joined, length: 1 },
  new Set([1]),
];

/** Returns a primitive, or the type of an object with its elements. */
function described(value: unknown, depth = 2): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const elements = depth > 0 ? Object.entries(value) : [];
  const contents = elements.map(([key, item]) => [key, described(item, depth - 1)]);
  return [Object.prototype.toString.call(value), ...contents];
}

it('throw, or read what they find, as eagerly', () => {
  const x = tensor([1]);
  for (const [name, method] of methods) {
    const argument = /map|filter|some|every|each|find|reduce/i.test(name) ? Boolean : undefined;
    const fn = (y: Tensor, o: unknown) => {
      let result: unknown;
      try {
        result = method.call(o, argument);
      } catch (error) {
        result = (error as Error).name;
      }
      return [y.mul(2), result] as const;
    };
    const captured = toStatic(fn);
    const [given, copies] = [receivers(), receivers()];
    for (let i = 0; i < 7; i++) {
      const at = (i * 3 + name.length) % given.length;
      expect([name, at, described(captured(x, copies[at])[1])]).toEqual([
        name,
        at,
        described(fn(x, given[at])[1]),
      ]);
    }
  }
});

it.each([
  ['Object.getPrototypeOf', (o: object) => Object.getPrototypeOf(o) as unknown],
  ['Object.setPrototypeOf', (o: object) => Object.setPrototypeOf({}, o) as unknown],
  ['Object.create', (o: object) => Object.create(o) as unknown],
])('what %s throws for a later call reaches the handler', (_name, act) => {
  const captured = toStatic((x: Tensor, o: unknown) => {
    let result: unknown;
    try {
      result = typeof act(o as object);
    } catch (error) {
      result = (error as Error).name;
    }
    return [x.mul(2), result];
  });
  const returned = toStatic((x: Tensor, o: unknown) => {
    try {
      return [x.mul(2), act(o as object)];
    } catch (error) {
      return [x.mul(2), (error as Error).name];
    }
  });
  const x = tensor([1]);
  for (const o of [{ a: 1 }, undefined, [1], undefined]) {
    expect(captured(x, o)[1]).toBe(o ? 'object' : 'TypeError');
    expect(returned(x, o)[1]).toEqual(o ? expect.anything() : 'TypeError');
  }
});

it.each(['reduce', 'reduceRight'] as const)(
  '%s of an array-like without a length throws',
  (name) => {
    const captured = toStatic((x: Tensor, o: object) => {
      try {
        return [x.mul(2), Reflect.apply(Array.prototype[name], o, [() => 1])];
      } catch (error) {
        return [x.mul(2), (error as Error).name];
      }
    });
    for (const o of [{}, { 0: 'a' }, new Date(5)]) {
      expect(captured(tensor([1]), o)[1]).toBe('TypeError');
    }
  },
);
