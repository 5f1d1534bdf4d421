/** Training steps of small networks, for benches of first calls. */

import { CharTransformer } from '../../examples/workloads/char-transformer.ts';
import { CharLstm } from '../../examples/workloads/lstm.ts';
import { crossEntropy, nn, optim, randint, randn, type Tensor } from '../../src/index.ts';

export interface Job {
  readonly step: (...inputs: Tensor[]) => Tensor;
  readonly inputs: readonly Tensor[];
}

function trained(
  model: nn.Module & { forward(x: Tensor): Tensor },
  optimizer: optim.Optimizer,
  inputs: readonly Tensor[],
): Job {
  const step = (x: Tensor, y: Tensor): Tensor => {
    const scores = model.forward(x);
    const loss = crossEntropy(scores.reshape([-1, scores.shape.at(-1)!]), y.flatten());
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  return { step: step as Job['step'], inputs };
}

const text = (batch: number, length: number) => randint(0, 65, [batch, length]);

export const jobs: Readonly<Record<string, () => Job>> = {
  mlp() {
    const [first, second, last] = [[784, 128] as const, [128, 128] as const, [128, 10] as const];
    const model = new nn.Sequential(
      new nn.Linear(...first),
      new nn.ReLU(),
      new nn.Linear(...second),
      new nn.ReLU(),
      new nn.Linear(...last),
    );
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    return trained(model, optimizer, [randn([64, 784]), randint(0, 10, [64])]);
  },
  gpt() {
    const size = { characters: 65, length: 64, width: 64, heads: 4, layers: 6 };
    const model = new CharTransformer(size);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 3e-3, weightDecay: 0.1 });
    return trained(model, optimizer, [text(8, 64), text(8, 64)]);
  },
  lstm() {
    const model = new CharLstm({ characters: 65, width: 128, layers: 1 });
    const optimizer = new optim.Adam(model.parameters(), { lr: 3e-3 });
    return trained(model, optimizer, [text(16, 32), text(16, 32)]);
  },
};
