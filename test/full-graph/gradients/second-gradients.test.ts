/** Gradients of gradients inside of branches and loops, and what is said of those through them. */

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

it('through a branch of a program: an error that names it, and the graph is as before', () => {
  const fn: Fn = (x, w) => {
    const y = x.mul(w);
    return (y.sum().itemSync() > 0 ? y.tanh().mul(w) : y.exp()).sum();
  };
  const captured = toStatic(fn, { fullGraph: true });
  const before = memory.stats('cpu').allocated;
  const asked: Fn = (x, w) => {
    const y = captured(x, w);
    const second = () => grad(y, [x], { createGraph: true });
    expect(second).toThrow(AutogradError);
    expect(second).toThrow(/through a branch or loop of a program/);
    return y;
  };
  expect(gradients(asked)).toEqual(gradients(fn));
  expect(memory.stats('cpu').allocated).toBe(before);
});
