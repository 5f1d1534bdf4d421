/** Slopes of piecewise functions at NaN, infinities, zeros, bounds and ties: PyTorch's rules, eagerly and captured. */

import { expect, it } from 'vitest';
import * as F from '../../src/index.ts';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

const points = [NaN, 0, -0, Infinity, -Infinity, 1, -1, 2, 6, 0.5, -0.5, 1e-40, -1e-40];
const ones = () => tensor(points.map(() => 1));

/** For each function, the comparisons that PyTorch's backward makes. */
const slopes: Readonly<Record<string, readonly [(x: Tensor) => Tensor, (x: number) => number]>> = {
  relu: [(x) => x.relu(), (x) => (x <= 0 ? 0 : 1)],
  relu6: [(x) => F.relu6(x), (x) => (x <= 0 || x >= 6 ? 0 : 1)],
  hardtanh: [(x) => F.hardtanh(x), (x) => (x <= -1 || x >= 1 ? 0 : 1)],
  clamp: [(x) => x.clamp(-1, 1), (x) => (x > -1 && x < 1 ? 1 : 0)],
  'clamp from below': [(x) => x.clamp(-1), (x) => (x > -1 ? 1 : 0)],
  'clamp from above': [(x) => x.clamp({ max: 1 }), (x) => (x < 1 ? 1 : 0)],
  leakyRelu: [(x) => F.leakyRelu(x, 0.25), (x) => (x > 0 ? 1 : 0.25)],
  elu: [(x) => F.elu(x), (x) => (x <= 0 ? Math.exp(x) : 1)],
  celu: [(x) => F.celu(x), (x) => (x <= 0 ? Math.exp(x) : 1)],
  threshold: [(x) => F.threshold(x, 0.5, 9), (x) => (x <= 0.5 ? 0 : 1)],
  hardshrink: [(x) => F.hardshrink(x, 0.5), (x) => (x >= -0.5 && x <= 0.5 ? 0 : 1)],
  softshrink: [(x) => F.softshrink(x, 0.5), (x) => (x >= -0.5 && x <= 0.5 ? 0 : 1)],
  hardsigmoid: [(x) => F.hardsigmoid(x), (x) => (x > -3 && x < 3 ? 1 / 6 : 0)],
  hardswish: [(x) => F.hardswish(x), (x) => (x < -3 ? 0 : x <= 3 ? x / 3 + 0.5 : 1)],
  maximum: [(x) => F.maximum(x, ones()), (x) => (x === 1 ? 0.5 : x < 1 ? 0 : 1)],
  minimum: [(x) => F.minimum(x, ones()), (x) => (x === 1 ? 0.5 : x > 1 ? 0 : 1)],
  'maximum, by the other operand': [
    (x) => F.maximum(ones(), x),
    (x) => (x === 1 ? 0.5 : x < 1 ? 0 : 1),
  ],
  fmax: [(x) => F.fmax(x, ones()), (x) => (x === 1 ? 0.5 : x > 1 ? 1 : 0)],
  'fmin, by the other operand': [(x) => F.fmin(ones(), x), (x) => (x === 1 ? 0.5 : x < 1 ? 1 : 0)],
  'clamp by a tensor': [
    (x) => x.clamp(ones().neg(), ones()),
    (x) => (Math.abs(x) === 1 ? 0.5 : Math.abs(x) > 1 ? 0 : 1),
  ],
  clampMin: [(x) => F.clampMin(x, ones()), (x) => (x === 1 ? 0.5 : x < 1 ? 0 : 1)],
  'clampMax, by the bound': [(x) => F.clampMax(ones(), x), (x) => (x === 1 ? 0.5 : x > 1 ? 0 : 1)],
  prelu: [(x) => F.prelu(x, tensor([0.25])), (x) => (x > 0 ? 1 : 0.25)],
};

it.each(Object.entries(slopes))('%s', (_name, [fn, slope]) => {
  const step = (x: Tensor) => {
    fn(x.mul(1)).sum().backward();
    return x.grad!;
  };
  const expected = points.map((x) => expect.closeTo(slope(x), 6));
  for (const each of [step, toStatic(step), toStatic(step, { fullGraph: true })]) {
    expect([...each(tensor(points).requiresGrad_()).dataSync()]).toEqual(expected);
  }
});
