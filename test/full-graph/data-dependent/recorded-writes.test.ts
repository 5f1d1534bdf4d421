/** Tensors of known shape that are written with values of data-dependent shape, while gradients are recorded. */

import { describe, it } from 'vitest';
import { arange, cat, noGrad, type Tensor, tensor } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

const leaf = (...rows: number[][]) => tensor(rows).requiresGrad_();

/** Each runs with two rows and with one, which broadcasts. */
const inputs = [
  () => [leaf([1, 2, 3], [4, -5, 6]), tensor(2), leaf([0.5, -1, 2], [1, 1, 3])],
  () => [leaf([-1, 0, 3], [2, 5, -6]), tensor(1), leaf([0.5, -1, 2], [1, 1, 3])],
];

type Body = (rows: Tensor, x: Tensor, n: number) => Tensor;

const bodies: Readonly<Record<string, Body>> = {
  'a sum': (a, x, n) => a.add_(x.narrow(0, 0, n)),
  'rows of its own': (a, _x, n) => a.add_(a.repeat([2, 1]).narrow(0, 0, n)),
  'a product, whose gradient reads what is overwritten': (a, x, n) => a.mul_(x.narrow(0, 0, n)),
  'a quotient': (a, x, n) => a.div_(x.narrow(0, 0, n).exp()),
  'a copy': (a, x, n) => a.copy_(x.narrow(0, 0, n)),
  numbers: (a, _x, n) => a.add_(arange(n).reshape([-1, 1])),
  'two products': (a, x, n) => {
    a.mul_(x.narrow(0, 0, n));
    return a.mul_(x.narrow(0, 0, n).tanh());
  },
  'a product without gradients': (a, x, n) => noGrad(() => a.mul_(x.narrow(0, 0, n))),
  'a product, of which a view is read before and afterwards': (a, x, n) => {
    const row = a.select(0, 1);
    const before = row.sum();
    a.mul_(x.narrow(0, 0, n));
    return cat([row, before.reshape([1])]);
  },
};

describe('a write of data-dependent shape', () => {
  it.each(Object.entries(bodies))('%s', (_, body) => {
    const fn = (x: Tensor, count: Tensor, w: Tensor) => {
      const a = x.mul(w.sigmoid());
      const result = body(a, x, count.itemSync());
      const sum = a.mul(a.tanh()).sum();
      return result !== a ? sum.add(result.sum()) : sum;
    };
    sameAsEager(fn, inputs);
  });
});
