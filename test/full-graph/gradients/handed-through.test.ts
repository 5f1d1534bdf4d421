/** Branches and loops that hand an operand through, with a graph of which another backward has freed a part. */

import { describe, expect, it } from 'vitest';
import {
  breakGraph,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../../src/index.ts';

const steps: Readonly<Record<string, (x: Tensor, w: Tensor) => void>> = {
  'a branch': (x, w) => {
    let kept = w.mul(2);
    const product = w.mul(x);
    const freed = w.tanh();
    breakGraph();
    freed.sum().backward();
    breakGraph();
    if (x.sum().itemSync() > 0) kept = product.mul(x);
    breakGraph();
    kept.sum().backward();
  },
  'a branch with two sides': (x, w) => {
    let kept = w.mul(2);
    let product = w.mul(x);
    const freed = w.tanh();
    breakGraph();
    freed.sum().backward();
    breakGraph();
    if (x.sum().itemSync() > 0) kept = product.mul(x);
    else product = product.exp();
    if (product.sum().itemSync() > -9) {
      breakGraph();
      kept.sum().backward();
    }
  },
  'a branch in a branch': (x, w) => {
    let kept = w.mul(2);
    let product = w.mul(x);
    const freed = w.tanh();
    breakGraph();
    freed.sum().backward();
    breakGraph();
    if (x.sum().itemSync() > -9) {
      if (x.sum().itemSync() > 0) kept = product.mul(x);
      else product = product.exp();
    }
    breakGraph();
    kept.sum().backward();
  },
  'a loop': (x, w) => {
    let kept = w.mul(2);
    const freed = w.tanh();
    breakGraph();
    freed.sum().backward();
    breakGraph();
    for (let i = 0; x.sum().itemSync() > i; i++) kept = kept.mul(x);
    breakGraph();
    kept.sum().backward();
  },
};

describe.each(Object.keys(steps))('%s that hands an operand through', (name) => {
  const step = steps[name]!;

  function gradients(run: typeof step, signs: readonly number[]): unknown[] {
    const w = tensor([0.3, 0.4], { requiresGrad: true });
    return signs.map((sign) => {
      run(tensor([3 * sign, -sign]), w);
      return w.grad!.tolist();
    });
  }

  it.each<ToStaticOptions>([{}, { capture: 'auto' }])(
    'passes its gradient on, with %o',
    (options) => {
      const f = toStatic(step, options);
      const signs = [-1, 1, -1];
      expect(gradients(f, signs)).toEqual(gradients(step, signs));
      const ops = f.programs().flatMap(({ trace }) => trace.program.ops);
      if (options.capture === 'auto') expect(ops.some(({ regions }) => regions)).toBe(true);
      expect(f.stats().graphRuns).toBeGreaterThan(2);
    },
  );
});
