/** Gradients of gradients inside of branches and loops, and what is said of those that can't be. */

import { expect, it } from 'vitest';
import { AutogradError } from '../../../runtime/errors/errors.ts';
import { grad, memory, type Tensor, tidy, toStatic } from '../../../src/index.ts';
import { weights } from '../../trace/same-as-eager.ts';

type Fn = (x: Tensor, w: Tensor) => Tensor;

const bits = (t: Tensor | null): number[] | null => t && [...t.dataSync()];

function gradients(fn: Fn): (number[] | null)[][] {
  return [1, 2, 3].map((salt) =>
    tidy(() => {
      const [x, w] = [weights([3], salt), weights([3], salt + 4)];
      const y = fn(x, w);
      y.backward();
      return [y, x.grad, w.grad].map(bits);
    }),
  );
}

it.each<[string, Fn]>([
  [
    'a branch',
    (x, w) => {
      let y = x.mul(w);
      if (y.sum().itemSync() > 0) {
        const [slope] = grad(y.tanh().sum(), [w], { createGraph: true });
        y = y.add(slope!.pow(2).sum());
      } else {
        y = y.exp();
      }
      return y.sum();
    },
  ],
  [
    'a loop',
    (x, w) => {
      let y = x.mul(w);
      for (let i = 0; y.sum().itemSync() < 3 && i < 4; i++) {
        const z = y.mul(w);
        const [slope] = grad(z.tanh().sum(), [z], { createGraph: true });
        y = y.add(slope!.pow(2).mul(z)).add(0.5);
      }
      return y.sum();
    },
  ],
])('createGraph inside of %s: the bits of eager execution', (_, fn) => {
  const before = memory.stats('cpu').allocated;
  const captured = toStatic(fn, { fullGraph: true, strict: true });
  expect(gradients(captured)).toEqual(gradients(fn));
  expect(captured.stats().graphs).toBe(1);
  expect(memory.stats('cpu').allocated).toBe(before);
});

it('through an element of a returned list: an error that names it, and the graph is as before', () => {
  const fn = (x: Tensor, w: Tensor): Tensor[] => {
    const found = [];
    let y = x.mul(w);
    while (found.length < 3 && y.sum().itemSync() < 3) {
      y = y.exp();
      found.push(y);
    }
    return found;
  };
  const captured = toStatic(fn, { fullGraph: true, unrollLimit: 0 });
  const before = memory.stats('cpu').allocated;
  const sum =
    (of: typeof fn): Fn =>
    (x, w) =>
      of(x, w).reduce((a, b) => a.add(b.sum()), x.sum());
  const asked: Fn = (x, w) => {
    const y = sum(captured)(x, w);
    const second = () => grad(y, [w], { createGraph: true });
    expect(second).toThrow(AutogradError);
    expect(second).toThrow(/through an element of a returned list/);
    return y;
  };
  expect(gradients(asked)).toEqual(gradients(sum(fn)));
  expect(memory.stats('cpu').allocated).toBe(before);
});
