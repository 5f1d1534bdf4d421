/** A number that was read is what it was, whatever is written to the tensor afterwards. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

/** Tensors of three elements, and of one, that a function may read and write. */
const sources: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'an argument': (x) => x,
  'a view of an argument': (x) => x.narrow(0, 1, 3),
  'an intermediate': (x) => x.mul(2),
  'a view of an intermediate': (x) => x.mul(2).narrow(0, 1, 3),
  'a strided view': (x) => x.mul(3).reshape([2, 3]).t().select(1, 1),
  'a sum': (x) => x.sum(),
  'a sum of one element': (x) => x.sum(0, true),
  'a detached result': (x) => x.mul(2).detach(),
};

const reads: Readonly<Record<string, (y: Tensor) => number>> = {
  itemSync: (y) => (y.rank === 0 ? y : y.select(0, 0)).itemSync(),
  toArraySync: (y) => (y.reshape([-1]).toArraySync() as number[])[0]!,
};

const writes: Readonly<Record<string, (y: Tensor) => unknown>> = {
  add_: (y) => y.add_(1),
  'add_ to a view': (y) => y.reshape([-1]).narrow(0, 0, 1).add_(5),
  copy_: (y) => y.copy_(y.neg().add(0.5)),
  zero_: (y) => y.zero_(),
  fill_: (y) => y.fill_(7),
};

type Read = (y: Tensor) => number;
type Write = (y: Tensor) => unknown;

/** Where the number is read, where the tensor is written, and where the number is used. */
const contexts: Readonly<
  Record<string, (make: (x: Tensor) => Tensor, read: Read, write: Write) => (x: Tensor) => unknown>
> = {
  'one after the other': (make, read, write) => (x) => {
    const y = make(x);
    const a = read(y);
    write(y);
    const b = read(y);
    return [a, b, y.mul(a).add(b)];
  },
  'a branch that writes': (make, read, write) => (x) => {
    const y = make(x);
    const a = read(y);
    if (a > 3) write(y);
    return [a, a + read(y), y.mul(a)];
  },
  'a branch that reads': (make, read, write) => (x) => {
    const y = make(x);
    let a = 1;
    if (x.sum().itemSync() > 12) a = read(y) + a;
    else a = read(y);
    write(y);
    return [a, y.mul(a)];
  },
  'a loop over both': (make, read, write) => (x) => {
    const y = make(x);
    let [last, sum] = [0, 0];
    for (let i = 0; i < 3; i++) {
      sum += last;
      last = read(y);
      write(y);
    }
    return [last, sum, y.mul(last)];
  },
  'a loop of the program over both': (make, read, write) => (x) => {
    const y = make(x);
    let [last, sum, turns] = [0, 0, 0];
    while (turns < 5 && Math.abs(sum) < 20) {
      turns++;
      sum += last;
      last = read(y);
      write(y);
    }
    return [last, sum, turns, y.mul(last)];
  },
  'a function that is called': (make, read, write) => (x) => {
    const y = make(x);
    const both = () => {
      const a = read(y);
      write(y);
      return a;
    };
    const [a, b] = [both(), both()];
    return [a, b, y.mul(b)];
  },
};

const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === 'number' ? value : (value as Tensor).toArraySync();
};

const inputs = [
  [1, 2, 3, 4, 5, 6],
  [0.5, -1, 2, 0, 1, -3],
  [9, 8, 7, 6, 5, 4],
];

describe('numbers that were read before a write', () => {
  for (const [context, build] of Object.entries(contexts)) {
    it.each(Object.entries(sources))(`${context}: of %s`, (_source, make) => {
      for (const [readName, read] of Object.entries(reads)) {
        for (const [writeName, write] of Object.entries(writes)) {
          const fn = build(make, read, write);
          const graph = toStatic(fn, { fullGraph: true });
          for (const values of inputs) {
            const [eager, own] = [tensor(values), tensor(values)];
            const expected = [plain(fn(eager)), eager.toArraySync()];
            const found = [plain(graph(own)), own.toArraySync()];
            expect(found, `${readName}, ${writeName}`).toEqual(expected);
          }
          expect(graph.stats().breaks).toEqual([]);
        }
      }
    });
  }
});
