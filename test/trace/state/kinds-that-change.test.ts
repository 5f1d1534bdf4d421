/** Questions about what kind of value something is: asked again where another call passes another kind. */

import { expect, it } from 'vitest';
import { isTensor, type Tensor, tensor, toStatic } from '../../../src/index.ts';

class Asked {
  readonly size = 1;
}

const questions: Readonly<Record<string, (value: unknown) => unknown>> = {
  instanceof: (value) => value instanceof Asked,
  'instanceof Tensor': (value) => isTensor(value),
  typeof: (value) => typeof value,
  'Array.isArray': (value) => Array.isArray(value),
  'ArrayBuffer.isView': (value) => ArrayBuffer.isView(value),
  'Number.isInteger': (value) => Number.isInteger(value),
  'Number.isNaN': (value) => Number.isNaN(value),
  'Object()': (value) => Object(value) === value,
  'Object.is': (value) => Object.is(value, null),
  Boolean: (value) => Boolean(value),
  'a missing value': (value) => value == null,
  'a property of what may be missing': (value) => (value as Asked | null)?.size,
  'an optional call': (value) => typeof (value as Asked | null)?.toString?.(),
  equality: (value) => [value === 1, value === null, value === undefined, value === 'x'],
};

const values: readonly (() => unknown)[] = [
  () => null,
  () => undefined,
  () => 1,
  () => 'x',
  () => true,
  () => Symbol('s'),
  () => new Asked(),
  () => ({ size: 2 }),
  () => [1],
  () => new Int8Array(2),
  () => tensor([3]),
  () => () => 1,
];

it.each(Object.entries(questions))('%s', { timeout: 60_000 }, (_, ask) => {
  for (const first of values) {
    const captured = toStatic((x: Tensor, value: unknown) => [x.mul(2), ask(value)]);
    const inList = toStatic((x: Tensor, [value]: unknown[]) => [x.mul(2), ask(value)]);
    for (const make of [first, ...values, first]) {
      const value = make();
      const pair = `${String(Object.prototype.toString.call(first()))}, then ${Object.prototype.toString.call(value)}`;
      expect(captured(tensor([1]), value)[1], pair).toEqual(ask(value));
      expect(inList(tensor([1]), [value])[1], pair).toEqual(ask(value));
    }
  }
});
