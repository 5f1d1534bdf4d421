import { describe, expect, it } from 'vitest';
import * as nn from '../../runtime/nn/index.ts';
import { logSoftmax, softmax } from '../../runtime/ops/normalization/softmax.ts';
import * as pointwise from '../../runtime/ops/pointwise/pointwise.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { spread, type Tensor, tensor } from '../ops/eager.ts';

type Unary = (x: Tensor) => Tensor;

const same: Readonly<Record<string, readonly [nn.Layer, Unary]>> = {
  Tanh: [new nn.Tanh(), pointwise.tanh],
  Sigmoid: [new nn.Sigmoid(), pointwise.sigmoid],
  LogSigmoid: [new nn.LogSigmoid(), pointwise.logSigmoid],
  Softmax: [new nn.Softmax(), softmax],
  LogSoftmax: [new nn.LogSoftmax(), logSoftmax],
  ReLU6: [new nn.ReLU6(), pointwise.relu6],
  SELU: [new nn.SELU(), pointwise.selu],
  SiLU: [new nn.SiLU(), pointwise.silu],
  Mish: [new nn.Mish(), pointwise.mish],
  Hardsigmoid: [new nn.Hardsigmoid(), pointwise.hardsigmoid],
  ELU: [new nn.ELU(0.5), (x) => pointwise.elu(x, 0.5)],
  LeakyReLU: [new nn.LeakyReLU(0.2), (x) => pointwise.leakyRelu(x, 0.2)],
  Hardtanh: [new nn.Hardtanh(-2, 1), (x) => pointwise.hardtanh(x, -2, 1)],
  Softplus: [new nn.Softplus(2, 3), (x) => pointwise.softplus(x, 2, 3)],
  GELU: [new nn.GELU('tanh'), (x) => pointwise.gelu(x, 'tanh')],
};

describe('modules of activations and losses', () => {
  for (const [name, [module, run]] of Object.entries(same)) {
    it(`${name} is its function`, () => {
      tidy(() => {
        const x = tensor(
          spread([3, 8]).map((value) => 4 * value),
          { shape: [3, 8] },
        );
        expect([...module.forward(x).dataSync()]).toEqual([...run(x).dataSync()]);
      });
    });
  }

  it('PReLU has a slope per channel', () => {
    tidy(() => {
      using module = new nn.PReLU(2, 0.5);
      module.weight.detach().copy_(tensor([0.5, 2]));
      const x = tensor([
        [-1, -1],
        [1, -3],
      ]);
      expect([...module.forward(x).dataSync()]).toEqual([-0.5, -2, 1, -6]);
    });
  });

  it('losses', () => {
    tidy(() => {
      const [x, y] = [tensor([[1, 2]]), tensor([[3, 5]])];
      const label = tensor(Int32Array.of(1));
      expect(new nn.MSELoss().forward(x, y).itemSync()).toBe(6.5);
      const [entropy, likelihood] = [new nn.CrossEntropyLoss(), new nn.NLLLoss()];
      expect(entropy.forward(x, label).itemSync()).toBeCloseTo(Math.log(1 + Math.exp(-1)), 6);
      expect(likelihood.forward(x, label).itemSync()).toBe(-2);
    });
  });
});
