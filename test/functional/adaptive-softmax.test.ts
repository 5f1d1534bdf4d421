/** Adaptive softmax, as PyTorch computes it in float64. */

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  nn,
  ShapeError,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const float64 = { dtype: 'float64' } as const;

/** Weights of sines and an input of cosines. */
function made() {
  const layer = new nn.AdaptiveLogSoftmaxWithLoss(6, 10, [3, 6], { divValue: 2, headBias: true });
  layer.double();
  [
    'head.weight',
    'head.bias',
    'tail.0.0.weight',
    'tail.0.1.weight',
    'tail.1.0.weight',
    'tail.1.1.weight',
  ].forEach((name, k) => {
    const own = layer.getParameter(name);
    const values = arange(own.numel(), float64)
      .add(1 + k)
      .sin();
    own.detach().copy_(values.reshape(own.shape));
  });
  const x = arange(30, float64).cos().reshape(5, 6).requiresGrad_();
  return { layer, x, target: tensor([0, 4, 9, 2, 6], { dtype: 'int32' }) };
}

const rounded = (x: Tensor): number[] =>
  Array.from(x.dataSync(), (own) => Math.round(Number(own) * 1e9) / 1e9);

describe('nn.AdaptiveLogSoftmaxWithLoss', () => {
  it('gives log-probabilities, the loss and gradients', () => {
    tidy(() => {
      const { layer, x, target } = made();
      const { output, loss } = layer.forward(x, target);
      expect(rounded(output)).toEqual([
        -0.319213946, -4.514981741, -5.169791827, -2.3248121, -3.195893213,
      ]);
      expect(rounded(loss)).toEqual([3.104938565]);
      loss.backward();
      const sums = Object.fromEntries(
        [...layer.namedParameters()].map(([name, own]) => [
          name,
          rounded(own.grad!.abs().sum())[0],
        ]),
      );
      expect(sums).toEqual({
        'head.weight': 4.990754205,
        'head.bias': 1.261738577,
        'tail.0.0.weight': 1.505732865,
        'tail.0.1.weight': 0.401456967,
        'tail.1.0.weight': 0.26228232,
        'tail.1.1.weight': 0.599995917,
      });
      expect(rounded(x.grad!.select(0, 1))).toEqual([
        -0.035852192, 0.238026816, 0.293065067, 0.078660647, -0.208064009, -0.303495575,
      ]);
      layer.dispose();
    });
  });

  it('gives the log-probabilities of all classes, and the most probable one', () => {
    tidy(() => {
      const { layer, x, target } = made();
      const all = layer.logProb(x);
      expect(rounded(all.select(0, 2))).toEqual([
        -0.504005897, -1.369714657, -2.606307479, -3.926333471, -6.730606645, -4.28440108,
        -3.807822402, -5.652057184, -6.306659897, -5.169791827,
      ]);
      expect(all.exp().sum(1).sub(1).abs().max().itemSync()).toBeLessThan(1e-12);
      expect(all.gather(1, target.unsqueeze(1)).squeeze(1).toArraySync()).toEqual(
        layer.forward(x, target).output.toArraySync(),
      );
      expect(layer.predict(x).toArraySync()).toEqual([0, 0, 0, 0, 0]);
      layer.dispose();
    });
  });

  it('takes one row, and is captured in one graph', () => {
    tidy(() => {
      const { layer, x, target } = made();
      const one = layer.forward(x.select(0, 1), target.select(0, 1));
      expect([one.output.shape, rounded(one.output)]).toEqual([[], [-4.514981741]]);
      const step = (x: Tensor, target: Tensor) => {
        layer.zeroGrad();
        const { output, loss } = layer.forward(x, target);
        loss.backward();
        return [output, ...layer.parameters().map((own) => own.grad!)];
      };
      const values = (run: typeof step) => run(x, target).map((own) => own.tolist());
      expect(values(toStatic(step, { fullGraph: true }))).toEqual(values(step));
      layer.dispose();
    });
  });

  it('refuses cutoffs out of order, other shapes, and targets that are no class', () => {
    tidy(() => {
      for (const cutoffs of [[], [0], [6, 3], [3, 3], [10], [1.5]]) {
        expect(() => new nn.AdaptiveLogSoftmaxWithLoss(6, 10, cutoffs)).toThrow(ArgumentError);
      }
      const { layer, x, target } = made();
      expect(() => layer.forward(x, target.narrow(0, 0, 2))).toThrow(ShapeError);
      expect(() => layer.forward(x.select(0, 0), target)).toThrow(ShapeError);
      expect(() => layer.forward(x, target.add(1))).toThrow(/10/);
      expect(() => layer.forward(x, target.sub(1))).toThrow(/-1/);
      layer.dispose();
    });
  });
});
