/** What was captured with one kind of value does what eager execution does when it is then given any other kind. */

import { describe, expect, it } from 'vitest';
import { deviceGuard, ones, type Tensor, tensor, toStatic } from '../../src/index.ts';

const kinds: Readonly<Record<string, () => unknown>> = {
  tensor: () => tensor([1, 2]),
  object: () => ({}),
  array: () => [],
  function: () => () => 1,
  NaN: () => Number.NaN,
  one: () => 1,
  two: () => 2,
  text: () => 'x',
  'empty text': () => '',
  null: () => null,
  undefined: () => undefined,
  true: () => true,
  false: () => false,
  symbol: () => Symbol('s'),
  bigint: () => 3n,
  map: () => new Map(),
};

// biome-ignore lint/suspicious/noExplicitAny: any value in the place of any other
type Given = any;

const functions: Readonly<Record<string, (v: Given) => unknown>> = {
  'Reflect.get': (v) => Reflect.get(v, 'abs') === undefined,
  'Reflect.has': (v) => Reflect.has(v, 'abs'),
  'Reflect.ownKeys': (v) => Reflect.ownKeys(v).length,
  'Reflect.set': (v) => Reflect.set(v, 'other', 1),
  'Reflect.deleteProperty': (v) => Reflect.deleteProperty(v, 'other'),
  'Reflect.getPrototypeOf': (v) => Reflect.getPrototypeOf(v) === Object.prototype,
  'Reflect.isExtensible': (v) => Reflect.isExtensible(v),
  'Reflect.getOwnPropertyDescriptor': (v) => Reflect.getOwnPropertyDescriptor(v, 'abs') ?? 0,
  'Reflect.defineProperty': (v) => Reflect.defineProperty(v, 'other', { value: 1 }),
  'Reflect.construct': (v) => typeof Reflect.construct(v, []),
  'Object.keys': (v) => Object.keys(v).length,
  'Object.assign': (v) => Object.keys(Object.assign({}, v)).length,
  'Object.getPrototypeOf': (v) => Object.getPrototypeOf(v) === Object.prototype,
  'Object.create': (v) => Object.getPrototypeOf(Object.create(v)) === v,
  'Object.isFrozen': (v) => Object.isFrozen(v),
  'Object.isSealed': (v) => Object.isSealed(v),
  'Object.isExtensible': (v) => Object.isExtensible(v),
  'Object.hasOwn': (v) => Object.hasOwn(v, 'abs'),
  'Object.fromEntries': (v) => Object.keys(Object.fromEntries(v)).length,
  'a spread into an object': (v) => Object.keys({ ...v }).length,
  in: (v) => 'abs' in v,
  instanceof: (v) => ({}) instanceof v,
  'Array.isArray': (v) => Array.isArray(v),
  'a spread into an array': (v) => [...v].length,
  'Array.from': (v) => Array.from(v).length,
  concat: (v) => [1].concat(v).length,
  flat: (v) => [v].flat().length,
  Map: (v) => new Map(v).size,
  Set: (v) => new Set(v).size,
  WeakSet: (v) => new WeakSet([v]).has(v),
  'a call': (v) => v(),
  apply: (v) => Math.max.apply(null, v),
  'a property': (v) => v.abs === undefined,
  'an optional chain': (v) => v?.abs === undefined,
  destructuring: (v) => {
    const [first] = v;
    return first === undefined;
  },
  not: (v) => !v,
  typeof: (v) => typeof v,
  deviceGuard: (v) => deviceGuard(v, () => 1),
  'options of an op': (v) => tensor([1, 2]).sum(v).shape.length,
  'an operand': (v) => tensor([1, 2]).add(v).shape.length,
  'a shape': (v) => ones(v).shape.length,
};

function outcome(call: (x: Tensor, v: unknown) => unknown, kind: string): unknown {
  try {
    return call(tensor([1]), kinds[kind]!());
  } catch (error) {
    return (error as Error).name;
  }
}

describe.each(Object.entries(functions))('%s', (_, fn) => {
  it.each([Object.keys(kinds), Object.keys(kinds).reverse()])(
    'does the same for each kind of value, whichever came before: %s first',
    (...order) => {
      const eager = (x: Tensor, v: unknown) => [fn(v), x.add(1).toArraySync()];
      const captured = toStatic((x: Tensor, v: unknown) => [fn(v), x.add(1).toArraySync()]);
      const expected = order.map((kind) => [kind, outcome(eager, kind)]);
      expect(order.map((kind) => [kind, outcome(captured, kind)])).toEqual(expected);
      expect(captured.stats().translations).toBeGreaterThan(0);
    },
  );
});
