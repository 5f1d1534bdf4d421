import { expect, it } from 'vitest';
import { grad, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

it('grad() fills .grad of results that retain it, as backward() does', () => {
  const { breaks } = expectSameAsEager(() => {
    const w = weights([3]);
    return {
      fn: (x: Tensor) => {
        const h = w.tanh();
        const k = h.mul(x);
        h.retainGrad();
        k.retainGrad();
        const [first] = grad(k.exp().sum(), [w], { retainGraph: true });
        const before = h.grad?.mul(1);
        const [inner] = grad(k.sum(), [h], { retainGraph: true });
        h.mul(2).sum().backward();
        return [first, before, inner, h.grad, k.grad];
      },
      args: (call) => [values([3], call + 2)],
      state: () => [w.grad],
    };
  });
  expect(breaks).toBe(0);
});
