/** `backward(options)`, as PyTorch's keywords: the same as after a gradient that is left out. */

import { describe, expect, it } from 'vitest';
import { type BackwardOptions, backward, type Tensor, tensor, toStatic } from '../../src/index.ts';

type Step = (loss: Tensor, w: Tensor) => void;

const steps: Readonly<Record<string, readonly [alone: Step, after: Step]>> = {
  retainGraph: [
    (loss) => loss.backward({ retainGraph: true }),
    (loss) => loss.backward(undefined, { retainGraph: true }),
  ],
  createGraph: [
    (loss) => backward(loss, { createGraph: true }),
    (loss) => backward(loss, null, { createGraph: true }),
  ],
  inputs: [
    (loss, w) => loss.backward({ inputs: [w] }),
    (loss, w) => loss.backward(undefined, { inputs: [w] }),
  ],
  nothing: [(loss) => loss.backward({}), (loss) => loss.backward()],
};

function gradients(step: Step, capture: boolean): unknown {
  const w = tensor([1, 2], { requiresGrad: true });
  const v = tensor([3, 4], { requiresGrad: true });
  const fn = () => {
    const loss = w.mul(v).square().sum();
    step(loss, w);
    return loss.detach();
  };
  const called = capture ? toStatic(fn, { fullGraph: true }) : fn;
  for (let i = 0; i < 3; i++) called();
  return [w.grad, v.grad].map((grad) => grad && [[...grad.dataSync()], grad.requiresGrad]);
}

describe.each(Object.entries(steps))('%s', (_name, [alone, after]) => {
  it('may be the only argument', () => {
    const expected = gradients(after, false);
    expect(gradients(alone, false)).toEqual(expected);
    expect(gradients(alone, true)).toEqual(expected);
  });
});

it('is checked like options in their place', () => {
  const loss = () => tensor([1], { requiresGrad: true }).square().sum();
  const options = { retain_graph: true } as BackwardOptions;
  expect(() => loss().backward(options)).toThrow(/backward: no such option[\s\S]*retain_graph/);
  expect(() => loss().backward([] as BackwardOptions)).toThrow(
    /the initial gradient is not a tensor/,
  );
  expect(() => loss().backward({} as Tensor, {})).toThrow(/the initial gradient is not a tensor/);
});

it('that is refused changes nothing: gradients of results are not retained', () => {
  const w = tensor([1, 2], { requiresGrad: true });
  const h = w.mul(2);
  const loss = h.square().sum();
  expect(() => loss.backward(tensor([1, 2, 3]), { inputs: [h] })).toThrow();
  loss.backward();
  expect(h.grad).toBeNull();
});
