/** A leaf that is frozen between forward and backward gets no gradient, as in PyTorch, eagerly and captured. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

type Step = (w: Tensor, v: Tensor) => void;

const steps: Record<string, Step> = {
  'a leaf': (w, v) => {
    const loss = w.mul(v).sum();
    w.requiresGrad_(false);
    loss.backward();
  },
  'a leaf with an earlier gradient': (w, v) => {
    w.mul(v).sum().backward();
    const loss = w.mul(v).sum();
    w.requiresGrad_(false);
    loss.backward();
  },
  'a leaf, for some steps': (w, v) => {
    const loss = w.mul(v).sum();
    w.requiresGrad_(false);
    loss.backward({ retainGraph: true });
    w.requiresGrad_();
    loss.backward();
  },
  'a leaf made inside': (w, v) => {
    const own = w.detach().requiresGrad_();
    const loss = own.mul(v).sum();
    own.requiresGrad_(false);
    loss.backward();
    if (own.grad) throw new Error('a gradient of a frozen leaf');
  },
};

const readings = (each: Step) =>
  tidy(() => {
    const w = tensor([1, 2], { requiresGrad: true });
    const v = tensor([3, 4], { requiresGrad: true });
    each(w, v);
    const seen = [w, v].map((x) => [x.requiresGrad, x.grad && [...x.grad.dataSync()]]);
    for (const x of [w, v]) x.grad?.dispose();
    return seen;
  });

it.each(Object.entries(steps))('%s', (name, step) => {
  const earlier = name === 'a leaf with an earlier gradient' || name === 'a leaf, for some steps';
  const isFrozen = !name.includes('some steps') && !name.includes('inside');
  const times = earlier ? 2 : 1;
  const expected = [
    [!isFrozen, earlier ? [3, 4] : null],
    [true, [times, 2 * times]],
  ];
  for (const each of [step, toStatic(step), toStatic(step, { fullGraph: true })]) {
    expect(readings(each)).toEqual(expected);
  }
});

it('after a captured forward', () => {
  const forward = (w: Tensor, v: Tensor) => w.mul(v).sum();
  for (const each of [forward, toStatic(forward)]) {
    const seen = readings((w, v) => {
      const loss = each(w, v);
      w.requiresGrad_(false);
      loss.backward();
    });
    expect(seen).toEqual([
      [false, null],
      [true, [1, 2]],
    ]);
  }
});
