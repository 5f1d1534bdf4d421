/** Ways to train, beyond plain steps: adversarial examples, distillation, loss scaling, checkpoints and others. */

import {
  checkpoint,
  clamp,
  crossEntropy,
  enableGrad,
  noGrad,
  optim,
  rand,
  randn,
  sigmoid,
  type Tensor,
} from '../../../src/index.ts';
import { values } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';
import { labels, Mlp } from './small-mlp.ts';

const adversarial: CorpusFunction = {
  name: 'a step of a generative adversarial network',
  make: () => {
    const generator = new Mlp(2, 6, 4);
    const critic = new Mlp(4, 6, 1);
    const g = new optim.SGD(generator.parameters(), { lr: 0.1 });
    const c = new optim.SGD(critic.parameters(), { lr: 0.1 });
    const loss = (scores: Tensor, real: boolean) =>
      (real ? sigmoid(scores) : sigmoid(scores).mul(-1).add(1)).add(1e-6).log().mean().neg();
    return {
      fn: (real: Tensor) => {
        const noise = randn([real.shape[0]!, 2]);
        const fake = generator.forward(noise);
        c.zeroGrad();
        const onReal = loss(critic.forward(real), true);
        const onFake = loss(critic.forward(fake.detach()), false);
        const criticLoss = onReal.add(onFake);
        criticLoss.backward();
        c.step();
        g.zeroGrad();
        const fooled = loss(critic.forward(fake), true);
        fooled.backward();
        g.step();
        return [criticLoss.detach(), fooled.detach()];
      },
      args: (call) => [values([6, 4], call)],
      state: () => [generator, critic],
    };
  },
  expected: { graphs: 2 },
};

const augmented: CorpusFunction = {
  name: 'noise, flips and mixup on the way in',
  make: () => {
    const model = new Mlp(8, 6, 3);
    const augmentation = { noise: 0.1, flip: true, mix: 0.3 };
    return {
      fn: (images: Tensor, config = augmentation) => {
        let x = images;
        if (config.flip) x = x.flip([2]);
        if (config.noise > 0) x = x.add(randn([...x.shape]).mul(config.noise));
        if (config.mix > 0) {
          const share = rand([x.shape[0]!, 1, 1]).mul(config.mix);
          x = x.mul(share.neg().add(1)).add(x.flip([0]).mul(share));
        }
        return model.forward(clamp(x, -1, 1).reshape([x.shape[0]!, -1]));
      },
      args: (call) => [values([3, 2, 4], call)],
      state: () => model,
    };
  },
  expected: { graphs: 1 },
};

const curriculum: CorpusFunction = {
  name: 'a curriculum that lengthens its sequences',
  make: () => {
    const w = values([3], 1).requiresGrad_();
    const progress = { level: 1, seen: 0 };
    return {
      fn: (sequence: Tensor) => {
        const length = Math.min(progress.level * 2, sequence.shape[0]!);
        const loss = sequence.narrow(0, 0, length).mul(w).tanh().mean();
        progress.seen++;
        if (progress.seen % 2 === 0) progress.level++;
        loss.backward();
        return loss.detach();
      },
      args: (call) => [values([6, 3], call)],
      state: () => [w, progress],
    };
  },
  expected: { graphs: 4 },
};

const distilled: CorpusFunction = {
  name: 'distillation from a teacher',
  make: () => {
    const teacher = new Mlp(4, 10, 3);
    const student = new Mlp(4, 5, 3);
    const optimizer = new optim.SGD(student.parameters(), { lr: 0.1 });
    return {
      fn: (x: Tensor, y: Tensor, { temperature = 2, alpha = 0.5 } = {}) => {
        const soft = noGrad(() => teacher.forward(x).div(temperature).softmax(-1));
        const scores = student.forward(x);
        const hard = crossEntropy(scores, y);
        const like = soft.mul(scores.div(temperature).logSoftmax(-1)).sum(-1).mean().neg();
        const loss = hard.mul(alpha).add(like.mul(1 - alpha));
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return loss.detach();
      },
      args: (call) => [values([6, 4], call), labels(call), { temperature: 3 }],
      state: () => [teacher, student],
    };
  },
  expected: { graphs: 2 },
};

const lossScaling: CorpusFunction = {
  name: 'dynamic loss scaling',
  make: () => {
    const w = values([4], 1).requiresGrad_();
    const scaler = { scale: 4, good: 0 };
    return {
      fn: (x: Tensor) => {
        const loss = x.mul(w).exp().mean();
        loss.mul(scaler.scale).backward();
        const finite = w.grad!.isfinite().all().itemSync();
        if (finite) {
          noGrad(() => w.sub_(w.grad!.mul(0.1 / scaler.scale)));
          if (++scaler.good === 2) {
            scaler.scale *= 2;
            scaler.good = 0;
          }
        } else {
          scaler.scale /= 2;
          scaler.good = 0;
        }
        w.grad = null;
        return loss.detach();
      },
      args: (call) => [values([5, 4], call).mul(call === 2 ? 1000 : 1)],
      state: () => [w, scaler],
    };
  },
  expected: { graphs: 5, breaks: ['data-read'], garbage: true },
};

const checkpointed: CorpusFunction = {
  name: 'blocks under checkpoint',
  make: () => {
    const blocks = [new Mlp(4, 8, 4), new Mlp(4, 8, 4)];
    return {
      fn: (x: Tensor) => {
        let h = x;
        for (const block of blocks)
          h = checkpoint((input: Tensor) => block.forward(input).add(input), h);
        const loss = h.pow(2).mean();
        loss.backward();
        return loss.detach();
      },
      args: (call) => [values([3, 4], call)],
      state: () => blocks,
    };
  },
  expected: { graphs: 2 },
};

const innerLoop: CorpusFunction = {
  name: 'fast adversarial examples: gradients of the input',
  make: () => {
    const model = new Mlp(4, 6, 3);
    return {
      fn: (x: Tensor, y: Tensor, eps: number) => {
        const input = x.clone().requiresGrad_();
        const loss = enableGrad(() => crossEntropy(model.forward(input), y));
        loss.backward();
        return noGrad(() => x.add(input.grad!.sign().mul(eps)));
      },
      args: (call) => [values([6, 4], call), labels(call), 0.1],
      state: () => model,
    };
  },
  expected: { graphs: 2 },
};

const unfrozenValidation: CorpusFunction = {
  name: 'a validation loss with a graph of its own, beside the step',
  make: () => {
    const model = new Mlp(4, 6, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    return {
      fn: (x: Tensor, y: Tensor) => {
        const loss = crossEntropy(model.forward(x), y);
        const validation = crossEntropy(model.forward(x.flip(0)), y.flip(0));
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return { loss, validation };
      },
      args: (call) => [values([6, 4], call), labels(call)],
      state: () => [model, optimizer],
    };
  },
  expected: { graphs: 2 },
};

export const trainingMethods: readonly CorpusFunction[] = [
  adversarial,
  augmented,
  curriculum,
  distilled,
  lossScaling,
  checkpointed,
  innerLoop,
  unfrozenValidation,
];
