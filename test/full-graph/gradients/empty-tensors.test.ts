/** Gradients of tensors without elements, of which two results are computed: one of them inside a branch or loop. */

import { describe, expect, it } from 'vitest';
import { type Tensor, type ToStaticOptions, tensor, tidy, toStatic } from '../../../src/index.ts';

type Body = (x: Tensor, w: Tensor) => Tensor[];

const bodies: Readonly<Record<string, Body>> = {
  'no elements, in a branch': (x, w) => {
    const none = w.mul(x).narrow(0, 0, 0).sin();
    let y = w.exp();
    if (x.sum().itemSync() > 0) y = none.mul(2).sum().add(w);
    return [none.sum(), y.sum()];
  },
  'no rows, in both sides of a branch': (x, w) => {
    const none = w.mul(x).unsqueeze(1).narrow(0, 1, 0).exp();
    const y = x.sum().itemSync() > 0 ? none.mul(2).sum().add(w) : w.tanh();
    return [none.mean(1).sum(), y.sum(), w.mul(2).sum()];
  },
  'no elements, in a loop': (x, w) => {
    const none = w.mul(x).narrow(0, 2, 0).sin();
    let y = w.exp();
    for (let i = 0; x.sum().itemSync() > i; i++) y = y.add(none.sum());
    return [none.sum(), y.sum()];
  },
};

const orders = [[0], [1], [0, 1], [1, 0]];

function gradients(body: Body): unknown[] {
  return orders.flatMap((order) =>
    [1, -1].map((sign) =>
      tidy(() => {
        const w = tensor([0.3, 0.7, 0.2], { requiresGrad: true });
        const results = body(tensor([sign, sign, sign]), w);
        return order.map((i) => {
          results[i]!.backward(undefined, { retainGraph: true });
          return w.grad!.tolist();
        });
      }),
    ),
  );
}

describe.each(Object.entries(bodies))('%s', (_, body) => {
  it.each<ToStaticOptions>([{}, { capture: 'auto' }, { fullGraph: true }])(
    'as eagerly, with %o',
    (options) => {
      const f = toStatic(body, options);
      expect(gradients(f)).toEqual(gradients(body));
      expect(f.stats().graphRuns).toBeGreaterThanOrEqual(2 * orders.length);
    },
  );
});
