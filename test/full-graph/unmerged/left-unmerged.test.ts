/** What the paths of a branch leave and cannot be merged: each path goes on with its own, to the end of the function. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { positive, sameAsEager, signs } from '../suite.ts';

function* counting() {
  yield 1;
  yield 2;
  yield 3;
  yield 4;
}

describe('an iterator that one path advances', () => {
  it.each<[string, () => Iterator<unknown>]>([
    ['of an array', () => [1, 2, 3].values()],
    [
      'of a Map',
      () =>
        new Map([
          [1, 'a'],
          [2, 'b'],
        ]).keys(),
    ],
    ['of a Set', () => new Set([3, 4]).values()],
    ['a generator', counting],
  ])('%s', (_, make) => {
    sameAsEager((x: Tensor) => {
      const iterator = make();
      const first = iterator.next().value as number;
      if (positive(x)) iterator.next();
      const rest: unknown[] = [];
      for (let next = iterator.next(); !next.done; next = iterator.next()) rest.push(next.value);
      return [x.mul(first + rest.length), rest];
    }, signs);
  });

  it('that both paths advance, and code after a second branch reads', () => {
    sameAsEager((x: Tensor) => {
      const iterator = counting();
      if (positive(x)) iterator.next();
      let y = x.mul(2);
      if (x.max().itemSync() > 10) {
        iterator.next();
        y = y.add(iterator.next().value as number);
      }
      return [y, iterator.next().value, iterator.next().done];
    }, signs);
  });

  it('in a function that is called', () => {
    const skip = (x: Tensor, iterator: Iterator<number>) => {
      if (positive(x)) iterator.next();
      return x.mul(3);
    };
    sameAsEager((x: Tensor) => {
      const iterator = counting();
      const y = skip(x, iterator).add(1);
      return y.mul(iterator.next().value as number);
    }, signs);
  });
});

describe('objects', () => {
  it('one on one path, and two on another, read afterwards', () => {
    sameAsEager((x: Tensor) => {
      const own = [x.mul(2)];
      let both: Tensor[][];
      if (positive(x)) {
        const one = [x.mul(3)];
        both = [one, one];
      } else both = [[x.add(1)], [x.add(2)]];
      both[0]!.push(x);
      return [own, both[0]!.length, both[1]!.length, both[1]![0]];
    }, signs);
  });

  it('a class, and an instance of one', () => {
    const scaledBy = (factor: Tensor) =>
      class {
        readonly #by = factor;
        of(x: Tensor): Tensor {
          return x.mul(this.#by);
        }
      };
    sameAsEager((x: Tensor) => {
      const Scaled = positive(x) ? scaledBy(x.add(1)) : scaledBy(x.add(2));
      return new Scaled().of(x);
    }, signs);
    sameAsEager((x: Tensor) => {
      const scaled = positive(x) ? new (scaledBy(x.mul(5)))() : null;
      return scaled ? scaled.of(x) : x.mul(2);
    }, signs);
  });
});

describe('what is refused by name', () => {
  it('a hole in an array that a path fills', () => {
    const f = (x: Tensor) => {
      const both: Tensor[] = new Array(2);
      if (positive(x)) both[1] = x.mul(2);
      return both[1] ?? x.mul(3);
    };
    expect(() => toStatic(f, { fullGraph: true })(tensor([1, 2]))).toThrow(/and a hole/);
  });

  it('a generator whose own loop stands elsewhere on each path', () => {
    const f = (x: Tensor) => {
      const iterator = (function* () {
        for (let i = 1; i < 5; i++) yield i;
      })();
      iterator.next();
      if (positive(x)) iterator.next();
      return x.mul(iterator.next().value as number);
    };
    expect(() => toStatic(f, { fullGraph: true })(tensor([1, 2]))).toThrow(/inside a generator/);
  });

  it('an iterator that a branch of a loop of the program advances', () => {
    const f = (x: Tensor) => {
      const iterator = counting();
      let y = x;
      while (y.sum().itemSync() < 50) {
        if (y.max().itemSync() > 3) iterator.next();
        y = y.mul(2).add(1);
      }
      return y.mul(iterator.next().value as number);
    };
    expect(() => toStatic(f, { fullGraph: true })(tensor([1, 2]))).toThrow(FullGraphError);
    expect(toStatic(f, { capture: 'auto' })(tensor([1, 2])).tolist()).toEqual(
      f(tensor([1, 2])).tolist(),
    );
  });
});
