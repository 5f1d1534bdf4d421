/** A training step as a user writes it: its module exports it and its arguments, and no workload. */

import { crossEntropy, nn, optim, randn, type Tensor, tensor } from '../../src/index.ts';

const model = new nn.Sequential(new nn.Linear(8, 32), new nn.ReLU(), new nn.Linear(32, 4));
const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });

// biome-ignore lint/style/noDefaultExport: users' modules have them.
export default function step(x: Tensor, y: Tensor): { loss: Tensor; isLarge: boolean } {
  optimizer.zeroGrad();
  const loss = crossEntropy(model.forward(x), y);
  const isLarge = loss.itemSync() > 100;
  loss.backward();
  optimizer.step();
  return { loss: loss.detach(), isLarge };
}

const batch = [randn([16, 8]), tensor(Int32Array.from({ length: 16 }, (_, i) => i % 4))];

export const inputs = (): Tensor[] => batch;
