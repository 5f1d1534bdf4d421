/**
 * A loss that reads the `.grad` of a leaf it depends on: backward adds to the gradient as soon as the leaf's is complete,
 * so that ops that backward reaches later find it changed.
 */

import { describe, expect, it } from 'vitest';
import { type Tensor, type ToStaticOptions, tensor, toStatic } from '../../../src/index.ts';

type Loss = (x: Tensor, p: Tensor, q: Tensor) => Tensor;

const losses: Record<string, Loss> = {
  'read before the leaf': (x, p, q) => q.grad!.mul(p).mul(q).mul(x),
  'read after the leaf': (x, p, q) => q.mul(p).mul(q.grad!).mul(x),
  'read between two reads of the leaf': (x, p, q) => q.mul(p).mul(q.grad!).mul(x).mul(q),
  'read through a view': (x, p, q) => q.grad!.view([2, 1]).mul(p).mul(q).mul(x),
  'read without being saved': (x, p, q) => q.grad!.add(p).mul(q).mul(x),
  'both in a branch': (x, p, q) =>
    x.sum().itemSync() > 0 ? q.grad!.mul(p).mul(q) : q.mul(x).mul(p),
  'read before a branch': (x, p, q) => {
    const h = q.grad!.mul(p);
    return x.sum().itemSync() > 0 ? h.mul(q) : h.mul(x);
  },
  'read before a loop': (x, p, q) => {
    let h = q.grad!.mul(p);
    let i = 0;
    while (i < x.sum().itemSync()) {
      h = h.mul(q);
      i++;
    }
    return h;
  },
};

const backwards: Record<string, (loss: Tensor) => void> = {
  'first order': (loss) => loss.backward(),
  'with its graph': (loss) => loss.backward(undefined, { createGraph: true }),
};

function outcomes(loss: Loss, backward: (loss: Tensor) => void, options: ToStaticOptions | null) {
  const step = (x: Tensor, p: Tensor, q: Tensor) => {
    backward(loss(x, p, q).sum());
    return x.mul(2);
  };
  const fn = options ? toStatic(step, options) : step;
  return [
    [1, 2],
    [-1, -2],
    [2, 1],
  ].map((row) => {
    const [p, q] = [tensor([0.5, -1.5]).requiresGrad_(), tensor([3, 0.25]).requiresGrad_()];
    q.grad = tensor([0.75, -2]);
    try {
      return [fn(tensor(row), p, q).tolist(), p.grad?.tolist(), q.grad.tolist()];
    } catch (error) {
      const [message] = (error as Error).message.split('\n');
      return [message, p.grad?.tolist(), q.grad.tolist()];
    }
  });
}

describe.each(Object.entries(backwards))('%s', (_, backward) => {
  it.each(Object.entries(losses))('%s', (_, loss) => {
    const eager = outcomes(loss, backward, null);
    for (const mode of [{}, { capture: 'auto' }] as ToStaticOptions[]) {
      expect(outcomes(loss, backward, mode)).toEqual(eager);
    }
  });
});

it('one program reads a gradient that eager backward reads', () => {
  for (const loss of Object.values(losses).slice(0, 5)) {
    const backward = backwards['first order']!;
    const found = outcomes(loss, backward, { fullGraph: true });
    expect(found).toEqual(outcomes(loss, backward, null));
  }
});
