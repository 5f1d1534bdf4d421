/** A tensor that a branch or loop hands on is one tensor by two names: its gradient, too. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

type Fn = (x: Tensor, y: Tensor, n: Tensor) => unknown[];

const leafOf = (x: Tensor): Tensor => x.detach().requiresGrad_();

const choose: Record<string, (a: Tensor, b: Tensor, n: Tensor) => Tensor> = {
  'a branch': (a, b, n) => {
    let t = b;
    if (n.itemSync() > 0) t = a;
    return t;
  },
  'an expression': (a, b, n) => (n.itemSync() > 0 ? a : b),
  'a loop': (a, b, n) => {
    let [t, k] = [a, 0];
    while (n.itemSync() > k) {
      t = b;
      k++;
    }
    return t;
  },
  'branches in branches': (a, b, n) => {
    let t = a;
    if (n.itemSync() > 0) {
      t = b;
      if (n.itemSync() > 1) t = a;
    }
    return t;
  },
};

const uses: Record<string, (t: Tensor, a: Tensor, b: Tensor) => unknown[]> = {
  'is read': (t, a, b) => {
    t.mul(t.sin()).sum().backward();
    return [t.grad, a.grad, b.grad].map((each) => each?.mul(2) ?? null);
  },
  'is put away': (t, a, b) => {
    t.mul(t.sin()).sum().backward();
    t.grad = null;
    return [a.grad === null, b.grad === null];
  },
  'has a hook': (t, a, b) => {
    t.registerHook((gradient) => gradient.mul(3));
    t.mul(a).add(b).sum().backward();
    return [t.grad, a.grad, b.grad];
  },
};

function outcome(fn: Fn, n: number): string {
  return tidy(() => {
    const [x, y] = [tensor([1, 2]), tensor([3, 4])];
    const found = fn(x, y, tensor(n));
    return JSON.stringify(found.map((each) => (each instanceof Tensor ? each.dataSync() : each)));
  });
}

describe('full-graph/merged-gradients', () => {
  const cases = Object.keys(choose).flatMap((by) => Object.keys(uses).map((use) => [by, use]));
  it.each(cases)('by %s: the gradient %s', (by, use) => {
    const [pick, read] = [choose[by!]!, uses[use!]!];
    const fn: Fn = (x, y, n) => {
      const [a, b] = [leafOf(x), leafOf(y)];
      return read(pick(a, b, n), a, b);
    };
    let refused = 0;
    for (const options of [{ fullGraph: true }, { capture: 'auto' }, {}] as const) {
      const graph = toStatic(fn, options);
      for (const n of [1, -1, 2, 1]) {
        try {
          expect(outcome(graph, n)).toBe(outcome(fn, n));
        } catch (error) {
          if (!(error instanceof FullGraphError)) throw error;
          refused++;
        }
      }
    }
    // What acts on the tensor itself is said not to be one program.
    if (use === 'is read') expect(refused).toBe(0);
  });

  it.each(Object.keys(choose))('by %s: writes to the gradient of a leaf from before', (by) => {
    const step = (a: Tensor, b: Tensor, n: Tensor) => {
      const t = choose[by]!(a, b, n);
      t.grad = a.detach().mul(2);
      t.mul(a).add(b).sum().backward();
      t.grad = t.grad!.mul(3);
      const twice = t.grad.mul(2);
      if (n.itemSync() > 1) t.grad = null;
      return twice;
    };
    const seen = (fn: typeof step, n: number) =>
      tidy(() => {
        const leaves = [tensor([1, 2]), tensor([3, 4])].map((leaf) => leaf.requiresGrad_());
        const twice = fn(leaves[0]!, leaves[1]!, tensor(n));
        return JSON.stringify([twice, ...leaves.map(({ grad }) => grad)].map((g) => g?.dataSync()));
      });
    const graph = toStatic(step, { fullGraph: true });
    for (const n of [1, -1, 2, 1]) expect(seen(graph, n)).toBe(seen(step, n));
  });
});
