/** The names that saved and exported programs give to what an optimizer keeps: files and shard hints contain them. */

import { expect, it } from 'vitest';
import { exportStableHLO } from '../../src/export/index.ts';
import { mseLoss, nn, ones, optim, type Tensor, toStatic } from '../../src/index.ts';

const model = new nn.Linear(3, 2);
it.each([
  ['Adam', ['averages', 'squares']],
  ['AdamW', ['averages', 'squares']],
  ['RMSprop', ['squares']],
] as const)('%s', async (name, kinds) => {
  const optimizer = new optim[name](model.parameters());
  const step = toStatic((x: Tensor) => {
    const loss = mseLoss(model.forward(x), x.narrow(1, 0, 2));
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    return loss.detach();
  });
  step(ones([4, 3]));
  step(ones([4, 3]));
  const { sidecar } = await exportStableHLO(step);
  const names = JSON.stringify(sidecar);
  for (const kind of kinds) expect(names).toContain(`optimizer.${kind}.0"`);
});
