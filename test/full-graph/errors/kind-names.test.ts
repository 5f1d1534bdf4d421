/** Errors name values in the user's words, never by the compiler's names for them. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../../src/index.ts';

const root = new URL('../../../src/', import.meta.url);

/** The compiler's names for kinds of values, from the types; those that are the user's, too, are left out. */
const kinds = ['variable', 'iterator-variables', 'function-variables', 'growable-list'].flatMap(
  (file) => {
    const text = readFileSync(new URL(`3-trace/variables/${file}.ts`, root), 'utf8');
    return [...text.matchAll(/readonly kind: '(\w+)'/g)].map(([, kind]) => kind!);
  },
);
const words = new Set([
  'tensor',
  'array',
  'function',
  'class',
  'generator',
  'object',
  'iterator',
  'list',
  'text',
]);
const internal = RegExp(`\\b(?:${kinds.filter((kind) => !words.has(kind)).join('|')})\\b`);
/** A vowel has another article. */
const article = /\ba (?:object|iterator|array|arguments)\b/;

const values: Record<string, (x: Tensor) => unknown> = {
  'a tensor': (x) => x.mul(2),
  'a data-dependent number': (x) => x.sum().itemSync(),
  'an array': (x) => [x],
  'an array that grows': (x) => {
    const list: Tensor[] = [];
    for (let i = 0; i < x.sum().itemSync(); i++) list.push(x.mul(i));
    return list;
  },
  'an object': (x) => ({ x }),
  'an instance': () => new (class Point {})(),
  'a Map': (x) => new Map([['x', x]]),
  'a Set': (x) => new Set([x]),
  'a WeakMap': () => new WeakMap(),
  'a typed array': () => new Float32Array(2),
  'a date': () => new Date(0),
  'a promise': () => Promise.resolve(1),
  'a regular expression': () => /x/,
  'a function': (x) => () => x,
  'a bound function': (x) => Math.max.bind(null, x.shape[0]!),
  'a class': () => class {},
  'an iterator': (x) => [x].values(),
  'a generator': (x) =>
    (function* (): Generator<Tensor> {
      yield x;
    })(),
  'one of two objects': (x) => (x.sum().itemSync() > 0 ? { a: x } : [x]),
  'a symbol': () => Symbol('s'),
  arguments: (x) =>
    (function (..._: unknown[]) {
      // biome-ignore lint/complexity/noArguments: the object under test.
      return arguments;
    })(x),
};

// biome-ignore lint/suspicious/noExplicitAny: values of all kinds, used in ways they don't support, too.
const uses: Record<string, (value: any, x: Tensor) => unknown> = {
  'Object.freeze': (value) => Object.freeze(value),
  'Object.isFrozen': (value) => Object.isFrozen(value),
  'Object.keys': (value) => Object.keys(value).length,
  'Object.getOwnPropertyNames': (value) => Object.getOwnPropertyNames(value).length,
  'Object.getPrototypeOf': (value) => Object.getPrototypeOf(value) === null,
  'Object.create': (value) => Object.create(value).foo,
  'Object.defineProperty': (value) => Object.defineProperty(value, 'foo', { value: 1 }) === null,
  instanceof: (value) => value instanceof Map,
  'instanceof it': (value, x) => x instanceof value,
  'for of': (value) => {
    let count = 0;
    for (const _ of value) count++;
    return count;
  },
  'for in': (value) => {
    let count = 0;
    for (const _ in value) count++;
    return count;
  },
  'a property': (value) => value.foo,
  'a symbol as key': (value) => value[Symbol.toStringTag],
  assignment: (value) => {
    value.foo = 1;
  },
  'a sum': (value) => value + 1,
  'an operand': (value, x) => x.add(value),
  'an option': (value, x) => x.sum(0, { keepDim: value }),
  'an element of a typed array': (value) => {
    new Float32Array(1)[0] = value;
  },
};

describe('what keeps a use of a value out of the program', () => {
  it.each(Object.entries(uses))('%s', (_, use) => {
    const rejections = Object.entries(values).flatMap(([, make]) => {
      const graph = toStatic((x: Tensor) => void use(make(x), x), { fullGraph: true });
      try {
        graph(tensor([1, 2]));
        return [];
      } catch (error) {
        return error instanceof FullGraphError ? [error.record.detail] : [];
      }
    });
    for (const detail of rejections) {
      expect(detail.replace('a bound of', '')).not.toMatch(internal);
      expect(detail).not.toMatch(article);
    }
  });
});

it('a loop of for await is refused by this name', async () => {
  const captured = toStatic(
    async (x: Tensor, each: readonly Tensor[]) => {
      let sum = x;
      for await (const one of each) sum = sum.add(one);
      return sum;
    },
    { fullGraph: true },
  );
  const call = async () => captured(tensor([1]), [tensor([2])]);
  await expect(call()).rejects.toThrow(/for await waits for the items of its iterable/);
});
