/**
 * Results of a program with branches or loops: which of them a backward leaves open depends on the path of the run, as
 * in eager execution, where ops of the other path have no graph.
 */

import { describe, expect, it } from 'vitest';
import {
  memory,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

type Body = (x: Tensor, w: Tensor) => Tensor[];

const bodies: Record<string, Body> = {
  'a branch that may continue another result': (x, w) => {
    const h = w.tanh();
    let y = w.mul(x);
    if (x.sum().itemSync() > 0) y = h.mul(2);
    return [y, h];
  },
  'a branch that continues one of two results': (x, w) => {
    const [g, h] = [w.tanh(), w.exp()];
    const y = x.sum().itemSync() > 0 ? g.mul(w) : h.mul(w);
    return [y, g, h];
  },
  'results that share an op in front of the branch': (x, w) => {
    const h = w.tanh();
    const y = x.sum().itemSync() > 0 ? h.exp() : h.mul(x);
    return [y, h];
  },
  'a branch after a backward in it': (x, w) => {
    const h = w.tanh();
    let y = w.mul(x).tanh();
    if (x.sum().itemSync() > 0) {
      y.sum().backward(undefined, { retainGraph: true });
      y = h.mul(2);
    }
    return [y, h];
  },
  'a backward through an earlier branch': (x, w) => {
    const h = w.exp();
    let y = w.mul(x);
    if (x.sum().itemSync() > -1) y = h.mul(w).tanh();
    y.sum().backward(undefined, { retainGraph: true });
    return [y, h, w.tanh()];
  },
  'a backward in a loop, through an earlier branch': (x, w) => {
    const h = w.exp();
    let y = w.mul(x);
    if (x.sum().itemSync() > -1) y = h.mul(w).tanh();
    let i = 0;
    while (i < Math.abs(x.sum().itemSync())) {
      y.sum().backward(undefined, { retainGraph: true });
      i++;
    }
    return [y.mul(2), h, y];
  },
  'a backward in a branch, through an earlier loop': (x, w) => {
    const h = w.exp();
    let y = w.mul(x);
    let i = 0;
    while (i < Math.abs(x.sum().itemSync())) {
      y = h.mul(y);
      i++;
    }
    if (x.sum().itemSync() > -1) y.sum().backward(undefined, { retainGraph: true });
    return [h, y];
  },
  'a loop of any number of iterations': (x, w) => {
    const h = w.tanh();
    let y = w.mul(x);
    let i = 0;
    while (i < x.sum().itemSync()) {
      y = y.mul(h);
      i++;
    }
    return [y, h];
  },
};

const orders: Record<string, (results: Tensor[]) => void> = {
  'in turn': (results) => {
    for (const each of results) each.sum().backward();
  },
  backward: (results) => {
    for (const each of [...results].reverse()) each.sum().backward();
  },
  'retained, then in turn': (results) => {
    results[0]!.sum().backward(undefined, { retainGraph: true });
    for (const each of results) each.sum().backward();
  },
};

const inputs = [
  [1, 2],
  [-1, -2],
  [0.5, 1],
  [3, -2],
  [-3, 1],
];

function outcomes(body: Body, use: (results: Tensor[]) => void, options: ToStaticOptions | null) {
  const fn = options ? toStatic(body, options) : body;
  return inputs.map((row) => {
    const w = tensor([0.5, -0.25]).requiresGrad_();
    try {
      use(fn(tensor(row), w));
      return w.grad!.tolist();
    } catch (error) {
      return [(error as Error).message.split('\n')[0], w.grad?.tolist()];
    }
  });
}

describe.each(Object.entries(bodies))('%s', (_, body) => {
  it.each(Object.entries(orders))('%s', (_, use) => {
    for (const mode of [{}, { capture: 'auto' }, { fullGraph: true }] as ToStaticOptions[]) {
      expect(outcomes(body, use, mode)).toEqual(outcomes(body, use, null));
    }
  });

  it('saved values are freed', () => {
    const fn = toStatic(body, { fullGraph: true });
    const run = (row: number[]) =>
      tidy(() => {
        const w = tensor([0.5, -0.25]).requiresGrad_();
        const results = fn(tensor(row), w);
        results[0]!.sum().backward();
        w.grad!.dispose();
      });
    for (const row of inputs) run(row);
    const before = memory.stats().allocated;
    for (const row of inputs) run(row);
    expect(memory.stats().allocated).toBe(before);
  });
});
