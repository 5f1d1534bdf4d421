/**
 * Branches, loops and calls that depend on the result of a custom function, with their backward in the program. When
 * the program is differentiated for its results, no gradient flows through the custom function again.
 */

import { it } from 'vitest';
import { customFunction, stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

const scaled = customFunction({
  name: 'scaled',
  forward: (ctx, a: Tensor, b: Tensor) => {
    ctx.saveForBackward(a, b);
    return a.mul(b);
  },
  backward: (ctx, g) => {
    const [a, b] = ctx.savedTensors as [Tensor, Tensor];
    return [g.mul(b).mul(2), g.mul(a)];
  },
});

const parts: Readonly<Record<string, (a: Tensor, w: Tensor) => Tensor>> = {
  'a branch': (a) => (a.sum().itemSync() > 0 ? a.tanh() : a.sin()),
  'a branch with another operand': (a, w) => (a.sum().itemSync() > 0 ? a.mul(w) : a.sin()),
  'a loop': (a, w) => {
    let h = a;
    for (let i = 0; h.sum().itemSync() > -2 && i < 3; i++) h = h.sub(1).mul(w);
    return h;
  },
  'a loop that fills a list': (a, w) => {
    const rows = [a];
    let h = a;
    while (rows.length < 4 && h.sum().itemSync() > -2) {
      h = h.sub(1).mul(w);
      rows.push(h);
    }
    return stack(rows).mul(w);
  },
  'a call of data-dependent shape': (a) => a.narrow(0, 0, a.sum().itemSync() > 0 ? 2 : 1).tanh(),
  'a branch in a branch': (a, w) => {
    if (a.sum().itemSync() < 0) return a.sin();
    return a.mean().itemSync() > 0.5 ? a.mul(w) : a.tanh();
  },
};

it.each(Object.entries(parts))('%s has the gradients of eager execution', (_, part) => {
  const make = () => {
    const [v, w] = [weights([3], 1), weights([3], 2)];
    return {
      fn: (x: Tensor) => {
        part(scaled(v, x), w).sum().backward();
        return x.mul(w);
      },
      args: (call: number) => [values([3], call)],
      state: () => [v, w],
    };
  };
  expectSameAsEager(make, { calls: 4, capture: 'auto' });
});
