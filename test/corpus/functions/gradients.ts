/** Steps that differentiate gradients, change what is differentiated, or write where gradients flow. */

import { customFunction, grad, nn, optim, rand, type Tensor, zeros } from '../../../src/index.ts';
import { values } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';

const critics: CorpusFunction = {
  name: 'a critic with a gradient penalty',
  make: () => {
    const critic = new nn.Sequential(new nn.Linear(4, 6), new nn.Tanh(), new nn.Linear(6, 1));
    const optimizer = new optim.Adam(critic.parameters(), { lr: 0.01 });
    return {
      fn: (real: Tensor, fake: Tensor, weight: number) => {
        optimizer.zeroGrad();
        const mix = rand([real.shape[0]!, 1]);
        const between = real
          .mul(mix)
          .add(fake.mul(mix.neg().add(1)))
          .detach()
          .requiresGrad_();
        const [slope] = grad(critic.forward(between).sum(), [between], { createGraph: true });
        const penalty = slope!.pow(2).sum(1).sqrt().sub(1).pow(2).mean();
        const distance = critic.forward(fake).mean().sub(critic.forward(real).mean());
        const loss = distance.add(penalty.mul(weight));
        loss.backward();
        optimizer.step();
        return [distance.detach(), penalty.detach()];
      },
      args: (call) => [values([3, 4], call), values([3, 4], call + 9), 10],
      state: () => [critic, optimizer],
    };
  },
  expected: { graphs: 2 },
};

const learning: CorpusFunction = {
  name: 'learning to learn: a step through a step, over several tasks',
  make: () => {
    const [weight, bias] = [values([3, 2], 1).requiresGrad_(), zeros([2]).requiresGrad_()];
    const optimizer = new optim.SGD([weight, bias], { lr: 0.1 });
    const errorOf = (x: Tensor, y: Tensor, w: Tensor, b: Tensor) =>
      x.matmul(w).add(b).sub(y).pow(2).mean();
    return {
      fn: (tasks: readonly { x: Tensor; y: Tensor }[]) => {
        optimizer.zeroGrad();
        for (const { x, y } of tasks) {
          const [toW, toB] = grad(errorOf(x, y, weight, bias), [weight, bias], {
            createGraph: true,
          });
          errorOf(x, y, weight.sub(toW!.mul(0.1)), bias.sub(toB!.mul(0.1))).backward();
        }
        optimizer.step();
      },
      args: (call) => [[0, 1].map((i) => ({ x: values([4, 3], call + i), y: values([4, 2], i) }))],
      state: () => [weight, bias],
    };
  },
  expected: { graphs: 2 },
};

const quantized: CorpusFunction = {
  name: 'rounded weights whose gradient goes straight through, filled row by row',
  make: () => {
    const round = customFunction({
      forward: (_ctx, w: Tensor) => w.mul(4).round().div(4),
      backward: (_ctx, gradient) => gradient!,
    });
    const weight = values([3, 2], 1).requiresGrad_();
    return {
      fn: (x: Tensor) => {
        const rows = zeros([x.shape[0]!, 2]);
        const used = round(weight);
        for (let i = 0; i < 2; i++) rows.select(0, i).add_(x.select(0, i).matmul(used));
        const loss = rows.pow(2).sum();
        loss.backward();
        const gradient = weight.grad;
        weight.grad = null;
        return [loss.detach(), gradient];
      },
      args: (call) => [values([2, 3], call)],
      state: () => weight,
    };
  },
  expected: { graphs: 1 },
};

export const gradients: readonly CorpusFunction[] = [critics, learning, quantized];
