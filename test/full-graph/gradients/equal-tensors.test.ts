/** Two tensors with the same elements, one in a list and one that a loop or branch changes, have gradients of their own. */

import { describe, expect, it } from 'vitest';
import { stack, type Tensor, tensor, tensorSpec, toStatic } from '../../../src/index.ts';

/** The same elements as another tensor, without being it. */
const copies: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'two views of one row': (x) => x.select(0, 0),
  'transposed twice': (x) => x.select(0, 0).reshape([1, 3]).t().t().reshape([3]),
  'times 1': (x) => x.select(0, 0).mul(1),
  'the same op twice': (x) => x.select(0, 0).tanh(),
  'a copy': (x) => x.select(0, 0).clone(),
  'the same shape': (x) => x.select(0, 0).view([3]),
};

type Fn = (x: Tensor, factors: Tensor) => Tensor | readonly [Tensor, Tensor];

/** The second loop's gradients come first: sums depend on which tensors are one. */
const functions: Readonly<Record<string, (equal: (x: Tensor) => Tensor) => Fn>> = {
  'an element and a carried tensor': (equal) => (x, factors) => {
    const n = x.shape[0]!;
    let h = x.select(0, 0);
    const out = [equal(x)];
    for (let i = 0; i < n; i++) {
      if (i === 1) continue;
      h = h.add(x.select(0, i));
      out.push(h);
    }
    for (let i = 0; i < n; i++) out.push(x.select(0, i));
    return stack(out).mul(factors.narrow(0, 0, out.length));
  },
  'two carried tensors': (equal) => (x, factors) => {
    let [h, other] = [x.select(0, 0), equal(x)];
    const out = [other];
    for (let i = 0; i < x.shape[0]!; i++) {
      other = other.mul(2);
      h = h.add(other);
      out.push(h, other);
    }
    return stack(out).mul(factors.narrow(0, 0, out.length));
  },
  'a result between an element and a carried tensor': (equal) => (x, factors) => {
    let h = equal(x);
    const result = equal(x);
    const out = [equal(x)];
    for (let i = 0; i < x.shape[0]!; i++) {
      h = h.add(x.select(0, i));
      out.push(h);
    }
    for (let i = 0; i < x.shape[0]!; i++) out.push(x.select(0, i));
    return [stack(out).mul(factors.narrow(0, 0, out.length)), result];
  },
  'an element that each iteration reads': (equal) => (x, factors) => {
    let h = x.select(0, 0);
    const other = equal(x);
    const out = [other];
    for (let i = 0; i < x.shape[0]!; i++) {
      h = h.add(other);
      out.push(h);
    }
    return stack(out).mul(factors.narrow(0, 0, out.length));
  },
};

describe.each(Object.entries(functions))('%s', (_, make) => {
  it.each(Object.entries(copies))('%s', (_, equal) => {
    const eager = make(equal);
    const captured = toStatic(eager, {
      fullGraph: true,
      inputSpec: [tensorSpec(['n', 3]), tensorSpec(['m', 1])],
    });
    for (const rows of [1, 2, 3, 5]) {
      // Sums of such numbers are rounded differently in nearly every order.
      const number = (i: number) => Math.sin(i * i + rows) * 10 ** ((i % 3) - 1);
      const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => number(i));
      const factors = tensor(numbers(20)).reshape([20, 1]);
      const [expected, found] = [eager, captured].map((fn) => {
        const x = tensor(numbers(3 * rows))
          .reshape([rows, 3])
          .detach()
          .requiresGrad_(true);
        const results = [fn(x, factors)].flat();
        results
          .map((y) => y.sum())
          .reduce((sum, y) => sum.add(y))
          .backward();
        return [results.map((y) => y.tolist()), x.grad!.tolist()];
      });
      expect(found).toEqual(expected);
    }
  });
});
