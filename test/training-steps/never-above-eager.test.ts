/** A captured training step needs no more memory than the same step run eagerly, wherever it calls `zeroGrad()`. */

import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  type MemoryChoice,
  memory,
  mseLoss,
  nn,
  optim,
  randint,
  randn,
  refcounted,
  seed,
  type Tensor,
  toStatic,
} from '../../src/index.ts';

interface Setup {
  readonly model: nn.Module;
  readonly loss: (x: Tensor, y: Tensor) => Tensor;
  readonly batch: readonly [Tensor, Tensor];
}

const classified = (model: nn.Sequential, x: Tensor, classes: number): Setup => ({
  model,
  loss: (input, labels) => crossEntropy(model.forward(input), labels),
  batch: [x, randint(0, classes, [x.size(0)])],
});

const setups: Readonly<Record<string, () => Setup>> = {
  'a small MLP': () =>
    classified(
      new nn.Sequential(new nn.Linear(8, 8), new nn.ReLU(), new nn.Linear(8, 5)),
      randn([4, 8]),
      5,
    ),
  'an MLP with large batches': () =>
    classified(
      new nn.Sequential(new nn.Linear(32, 32), new nn.GELU(), new nn.Linear(32, 5)),
      randn([256, 32]),
      5,
    ),
  'an MLP with large weights': () =>
    classified(
      new nn.Sequential(new nn.Linear(256, 256), new nn.Tanh(), new nn.Linear(256, 5)),
      randn([16, 256]),
      5,
    ),
  'norms and dropout': () => {
    const layers = [new nn.Linear(33, 33), new nn.LayerNorm(33), new nn.Dropout(0.2)];
    return classified(
      new nn.Sequential(...layers, new nn.ReLU(), new nn.Linear(33, 3)),
      randn([7, 33]),
      3,
    );
  },
  'convolution, batch norm and pooling': () =>
    classified(
      new nn.Sequential(
        new nn.Conv2d(3, 8, 3, { padding: 1 }),
        new nn.BatchNorm2d(8),
        new nn.ReLU(),
        new nn.MaxPool2d(2),
        new nn.Flatten(),
        new nn.Linear(8 * 64, 4),
      ),
      randn([4, 3, 16, 16]),
      4,
    ),
  'an LSTM': () => {
    const model = new nn.LSTM(8, 8, { batchFirst: true });
    const loss: Setup['loss'] = (x, y) => mseLoss(model.forward(x)[0], y);
    return { model, loss, batch: [randn([4, 5, 8]), randn([4, 5, 8])] };
  },
  'a transformer layer': () => {
    const options = { batchFirst: true, dimFeedforward: 64 };
    const model = new nn.TransformerEncoderLayer(32, 4, options);
    const loss: Setup['loss'] = (x, y) => mseLoss(model.forward(x), y);
    return { model, loss, batch: [randn([4, 6, 32]), randn([4, 6, 32])] };
  },
};

type Optimize = (parameters: Tensor[]) => optim.SGD | optim.AdamW;

const optimizers: Readonly<Record<string, Optimize>> = {
  SGD: (parameters) => new optim.SGD(parameters, { lr: 0.1, momentum: 0.9 }),
  AdamW: (parameters) => new optim.AdamW(parameters, { lr: 1e-3 }),
};

/** Steps after which counters are inputs and gradients are there. */
const warmUps = 3;

/** The most bytes of a step, with everything that the training holds; null: eagerly, tensors freed at their last use. */
function peakOf(
  make: () => Setup,
  optimize: Optimize,
  first: boolean,
  choice: MemoryChoice | null,
) {
  const before = memory.stats().allocated;
  seed(1);
  const { model, loss, batch } = make();
  const optimizer = optimize([...model.parameters()]);
  const step = (x: Tensor, y: Tensor): Tensor => {
    if (first) optimizer.zeroGrad();
    const result = loss(x, y);
    result.backward();
    optimizer.step();
    if (!first) optimizer.zeroGrad();
    return result;
  };
  const run = choice ? toStatic(step, { memory: choice }) : refcounted(step);
  for (let i = 0; i < warmUps; i++) run(...batch).dispose();
  memory.reset();
  const last = run(...batch);
  const result = { peak: memory.stats().peakAllocated - before, loss: last.itemSync() };
  optimizer.zeroGrad();
  for (const each of [last, ...batch, optimizer, ...model.parameters(), ...model.buffers()]) {
    each.dispose();
  }
  return result;
}

describe.each(Object.entries(setups))('training-steps/never above eager: %s', (_, make) => {
  it.each(Object.entries(optimizers))('with %s', (_name, optimize) => {
    for (const first of [true, false]) {
      const eager = peakOf(make, optimize, first, null);
      for (const prefer of ['time', 'bytes'] as const) {
        const captured = peakOf(make, optimize, first, { prefer });
        const where = `zeroGrad() ${first ? 'first' : 'last'}, prefer: '${prefer}'`;
        expect(captured.loss, where).toBe(eager.loss);
        expect(captured.peak, where).toBeLessThanOrEqual(eager.peak);
      }
    }
  });
});
