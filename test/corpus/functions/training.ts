/** Training loops and steps. */

import {
  checkpoint,
  clamp,
  crossEntropy,
  enableGrad,
  mseLoss,
  nn,
  noGrad,
  optim,
  rand,
  randn,
  relu,
  sigmoid,
  type Tensor,
  tensor,
} from '../../../src/index.ts';
import { values } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';

class Mlp extends nn.Module {
  readonly first: nn.Linear;
  readonly second: nn.Linear;

  constructor(inputs: number, hidden: number, outputs: number) {
    super();
    this.first = new nn.Linear(inputs, hidden);
    this.second = new nn.Linear(hidden, outputs);
  }

  override forward(x: Tensor): Tensor {
    return this.second.forward(relu(this.first.forward(x)));
  }
}

const labels = (call: number, count = 6): Tensor =>
  tensor(Int32Array.from({ length: count }, (_, i) => (i * 7 + call) % 3));

const sgdStep: CorpusFunction = {
  name: 'a training step with SGD',
  make: () => {
    const model = new Mlp(4, 8, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
    return {
      fn: (x: Tensor, y: Tensor) => {
        optimizer.zeroGrad();
        const loss = crossEntropy(model.forward(x), y);
        loss.backward();
        optimizer.step();
        return loss.detach();
      },
      args: (call) => [values([6, 4], call), labels(call)],
      state: () => [model, optimizer],
    };
  },
  expected: { graphs: 2 },
};

const adamStep: CorpusFunction = {
  name: 'a training step with AdamW, the losses kept in a list',
  make: () => {
    const model = new Mlp(4, 8, 3);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
    const history: Tensor[] = [];
    return {
      fn: (x: Tensor, y: Tensor) => {
        const loss = crossEntropy(model.forward(x), y);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        history.push(loss.detach());
      },
      args: (call) => [values([6, 4], call), labels(call)],
      state: () => [model, optimizer, history],
    };
  },
  calls: 6,
  expected: { graphs: 1 },
};

const loggedLoop: CorpusFunction = {
  name: 'a loop over batches that logs and stops early',
  make: () => {
    const model = new Mlp(4, 8, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
    const batches = [0, 1, 2, 3, 4].map((i) => ({ x: values([6, 4], i), y: labels(i) }));
    return {
      fn: (patience: number) => {
        let best = Number.POSITIVE_INFINITY;
        let bad = 0;
        for (const [step, { x, y }] of batches.entries()) {
          optimizer.zeroGrad();
          const loss = crossEntropy(model.forward(x), y);
          loss.backward();
          optimizer.step();
          const value = loss.itemSync();
          if (step % 2 === 0) console.log(`step ${step}: ${value.toFixed(4)}`);
          if (value < best - 1e-3) {
            best = value;
            bad = 0;
          } else if (++bad >= patience) {
            console.log('early stop at', step);
            break;
          }
        }
        return best;
      },
      args: (call) => [call % 2 ? 1 : 2],
      state: () => [model, batches],
    };
  },
  expected: { graphs: 3, breaks: ['data-read', 'loop-iteration', 'native-call'] },
};

const accumulation: CorpusFunction = {
  name: 'gradient accumulation over micro-batches',
  make: () => {
    const model = new Mlp(4, 6, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    return {
      fn: (x: Tensor, y: Tensor, parts: number) => {
        optimizer.zeroGrad();
        const size = x.shape[0]! / parts;
        let total: Tensor | null = null;
        for (let i = 0; i < parts; i++) {
          const scores = model.forward(x.narrow(0, i * size, size));
          const loss = crossEntropy(scores, y.narrow(0, i * size, size)).div(parts);
          loss.backward();
          const detached = loss.detach();
          total = total ? total.add(detached) : detached;
        }
        optimizer.step();
        return total;
      },
      args: (call) => [values([6, 4], call), labels(call), 3],
      state: () => model,
    };
  },
  expected: { graphs: 2 },
};

const movingAverage: CorpusFunction = {
  name: 'an exponential moving average of the weights',
  make: () => {
    const model = new Mlp(4, 6, 3);
    const shadow = new Mlp(4, 6, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    return {
      fn: (x: Tensor, y: Tensor, decay: number) => {
        const loss = mseLoss(model.forward(x), y);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        noGrad(() => {
          const current = model.parameters();
          shadow.parameters().forEach((average, i) => {
            average.mul_(decay).add_(current[i]!.mul(1 - decay));
          });
        });
        return loss.detach();
      },
      args: (call) => [values([6, 4], call), values([6, 3], call + 50), 0.9],
      state: () => [model, shadow],
    };
  },
  expected: { graphs: 2 },
};

const warmUp: CorpusFunction = {
  name: 'a learning rate that warms up and then decays',
  make: () => {
    const model = new Mlp(4, 6, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0 });
    const schedule = { step: 0, warm: 2, base: 0.2 };
    return {
      fn: (x: Tensor, y: Tensor) => {
        schedule.step += 1;
        const { step, warm, base } = schedule;
        optimizer.lr = step <= warm ? (base * step) / warm : base / Math.sqrt(step - warm);
        const loss = crossEntropy(model.forward(x), y);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return { loss: loss.detach(), lr: optimizer.lr };
      },
      args: (call) => [values([6, 4], call), labels(call)],
      state: () => [model, schedule],
    };
  },
  calls: 5,
  expected: { graphs: 3 },
};

const scheduled: CorpusFunction = {
  name: 'a schedule object that is stepped inside',
  make: () => {
    const model = new Mlp(4, 6, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.2 });
    const scheduler = new optim.StepLR(optimizer, 2, 0.5);
    return {
      fn: (x: Tensor, y: Tensor) => {
        const loss = crossEntropy(model.forward(x), y);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        scheduler.step();
        return loss.detach();
      },
      args: (call) => [values([6, 4], call), labels(call)],
      state: () => [model, optimizer.groups],
    };
  },
  expected: { graphs: 2 },
};

const clipped: CorpusFunction = {
  name: 'clipped gradients',
  make: () => {
    const model = new Mlp(4, 6, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    return {
      fn: (x: Tensor, y: Tensor) => {
        optimizer.zeroGrad();
        const loss = crossEntropy(model.forward(x), y);
        loss.backward();
        const norm = nn.utils.clipGradNorm_(model.parameters(), 0.5);
        optimizer.step();
        return { loss: loss.detach(), norm };
      },
      args: (call) => [values([6, 4], call), labels(call)],
      state: () => model,
    };
  },
  expected: { graphs: 2 },
};

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

export const training: readonly CorpusFunction[] = [
  sgdStep,
  adamStep,
  loggedLoop,
  accumulation,
  movingAverage,
  warmUp,
  scheduled,
  clipped,
  adversarial,
  augmented,
  curriculum,
  distilled,
  lossScaling,
  checkpointed,
  innerLoop,
  unfrozenValidation,
];
