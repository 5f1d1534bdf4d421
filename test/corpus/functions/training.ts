/** Training loops and steps. */

import { crossEntropy, mseLoss, nn, noGrad, optim, type Tensor } from '../../../src/index.ts';
import { values } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';
import { labels, Mlp } from './small-mlp.ts';

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

export const training: readonly CorpusFunction[] = [
  sgdStep,
  adamStep,
  loggedLoop,
  accumulation,
  movingAverage,
  warmUp,
  scheduled,
  clipped,
];
