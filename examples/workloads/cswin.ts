/** CSWin transformer: the memory workload. At full size for `meta`, reduced on real digits. */

import { crossEntropy, optim, pad, type Tensor, tidy } from '../../src/index.ts';
import type { WorkloadOptions } from '../../src/lab/compare/workload.ts';
import { base384, CSWinTransformer, reduced } from './cswin-model.ts';
import { defineWorkload } from './define-workload.ts';
import { countedBatch, digitBatch } from './digits.ts';

/** AdamW with decay only for matrices and kernels: not for biases, norms and other vectors. */
function optimizerOf(model: CSWinTransformer, lr: number): optim.AdamW {
  const all = model.parameters();
  const decayed = all.filter(({ rank }) => rank > 1);
  const plain = all.filter(({ rank }) => rank <= 1);
  return new optim.AdamW([{ parameters: decayed }, { parameters: plain, weightDecay: 0 }], {
    lr,
    betas: [0.9, 0.999],
    eps: 1e-8,
    weightDecay: 0.05,
  });
}

/** Rises from a hundredth in 20 epochs, then falls to a hundredth along half a cosine in 280. */
function scheduleOf(optimizer: optim.Optimizer, lowest: number): optim.LRScheduler {
  const warmUp = new optim.LinearLR(optimizer, { startFactor: 0.01, totalIters: 20 });
  const down = new optim.CosineAnnealingLR(optimizer, 280, lowest);
  return new optim.SequentialLR(optimizer, [warmUp, down], [20]);
}

function batchOf(i: number, { size, batch = 8 }: WorkloadOptions): Tensor[] {
  if (size === 'full') return countedBatch(batch, base384.channels, base384.image);
  const [images, labels] = digitBatch(i, batch);
  const framed = tidy(() => pad(images, [2, 2, 2, 2]));
  images.dispose();
  return [framed, labels];
}

/** Run by `tostatic compare`. */
export const workload = defineWorkload<CSWinTransformer>({
  model: ({ size, breaks }) =>
    new CSWinTransformer({ ...(size === 'full' ? base384 : reduced), breaks }),
  optimizer: (model, { size }) => optimizerOf(model, size === 'full' ? 2.5e-4 : 2e-3),
  schedule: (optimizer, { size }) => (size === 'full' ? scheduleOf(optimizer, 2.5e-6) : null),
  loss: (model, images, labels) =>
    crossEntropy(model.forward(images!), labels!, { labelSmoothing: 0.1 }),
  inputs: batchOf,
});
