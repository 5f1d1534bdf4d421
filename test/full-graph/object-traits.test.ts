/** Objects with accessors, symbols and attributes in branches and loops of a program. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { positive, sameAsEager } from './suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
const inputs = [() => [x(1, 2)], () => [x(-3, 1)]];

describe('in a branch', () => {
  it('an accessor and an iterator of an object that the branch makes', () => {
    const f = (x: Tensor) => {
      let y = x;
      if (positive(x)) {
        const pair = {
          get twice() {
            return x.mul(2);
          },
          *[Symbol.iterator]() {
            yield x;
            yield this.twice;
          },
        };
        for (const part of pair) y = y.add(part);
      }
      return y.mul(3);
    };
    sameAsEager(f, inputs);
  });

  it('an object with an accessor is chosen', () => {
    const f = (x: Tensor) => {
      const o = positive(x)
        ? {
            get value() {
              return x.mul(2);
            },
          }
        : { value: x.mul(5) };
      return o.value.add(1);
    };
    sameAsEager(f, inputs);
  });

  it('an object is read that has had its symbols and accessors before', () => {
    const key = Symbol('key');
    const f = (x: Tensor) => {
      const o = {
        [key]: x.mul(2),
        get value() {
          return x.mul(3);
        },
      };
      if (positive(x)) return [o[key].add(1), o.value];
      return [o[key].sub(1), o.value.neg()];
    };
    sameAsEager(f, inputs);
  });

  it('properties that only one way defines of an object from before are refused by name', () => {
    const key = Symbol('key');
    const f = toStatic(
      (x: Tensor) => {
        const o: Record<symbol, Tensor> = {};
        if (positive(x)) o[key] = x;
        return o[key] ?? x.mul(2);
      },
      { fullGraph: true },
    );
    expect(() => f(x(1))).toThrow(FullGraphError);
    expect(() => f(x(1))).toThrow(/object from before it gets a symbol/);
  });
});

it('text of objects that hold numbers of the program', () => {
  const f = (x: Tensor) => {
    const n = x.sum().itemSync();
    return [`${[n, 1]}`, JSON.stringify({ n, list: [n] }), String([x.shape, n])];
  };
  // What is no number of JSON is null.
  sameAsEager(f, [...inputs, () => [x(Number.NaN, 1)]]);
});
