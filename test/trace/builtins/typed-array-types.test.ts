/** Methods of typed arrays, of each type. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

const types = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as unknown as readonly Float32ArrayConstructor[];

const uses: Readonly<Record<string, (array: Float32Array, one: number) => unknown>> = {
  map: (a, one) => a.map((v) => v + one),
  filter: (a, one) => a.filter((v) => v > one),
  slice: (a) => a.slice(1),
  subarray: (a) => a.subarray(1, 2),
  sort: (a) => a.sort(),
  'sort by': (a) => a.sort((p, q) => (p < q ? 1 : p > q ? -1 : 0)),
  'toSorted and toReversed': (a) => [a.toSorted(), a.toReversed()],
  reverse: (a) => a.reverse(),
  with: (a, one) => a.with(0, one),
  fill: (a, one) => a.fill(one, 1),
  set: (a, one) => [a.set([one], 1), a],
  copyWithin: (a) => a.copyWithin(0, 1),
  'at and indexOf': (a, one) => [a.at(-1), a.indexOf(one), a.includes(one), a.lastIndexOf(one)],
  'find and some': (a, one) => [a.find((v) => v > one), a.some((v) => v === one), a.every(Boolean)],
  reduce: (a) => a.reduce((p, q) => p + q),
  join: (a) => [a.join('-'), String(a)],
  iterate: (a) => [[...a], [...a.entries()], [...a.keys()]],
  'from and of': (a) => {
    const type = a.constructor as Float32ArrayConstructor;
    return [type.from(a), type.of(...a), type.name, a.BYTES_PER_ELEMENT];
  },
  tags: (a) => [Object.prototype.toString.call(a), a[Symbol.toStringTag], ArrayBuffer.isView(a)],
  'a copy': (a) => [new (a.constructor as Float32ArrayConstructor)(a), Array.from(a)],
  'in place': (a, one) => {
    a[1] = one;
    a[9] = one;
    return [a, a.length, 9 in a, Object.keys(a)];
  },
};

describe.each(types.map((type) => [type.name, type] as const))('%s', (_name, type) => {
  it.each(Object.keys(uses))('%s', (name) => {
    const isBig = type.name.startsWith('Big');
    const { stats } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const y = x.add(1);
        const numbers = isBig ? [3n, 1n, 2n] : [3, 1, 2];
        const made = new type(numbers as number[]);
        const result = uses[name]!(made, (isBig ? 1n : 1) as number);
        return [y, result, made];
      },
      args: () => [values([3])],
    }));
    expect(stats.graphs).toBeGreaterThan(0);
  });
});
