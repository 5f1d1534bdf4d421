/** One training step of a deep network with less and less memory: the same numbers, more arithmetic. */

import { memory, nn, randn, seed, type Tensor, tidy, toStatic } from '../src/index.ts';

seed(1);
const layers = Array.from({ length: 4 }, () => [new nn.Linear(64, 64), new nn.GELU()]).flat();
const model = new nn.Sequential(...layers);
const input = randn([256, 64]);
const step = (x: Tensor): Tensor => {
  const loss = model.forward(x).pow(2).mean();
  loss.backward();
  return loss;
};

for (const budget of [null, 440, 330]) {
  const captured = toStatic(step, {
    memory: { budget: budget && budget * 1024 },
    fallback: 'error',
  });
  const before = memory.stats('cpu').allocated;
  memory.reset('cpu');
  const [loss, slope] = tidy(() => {
    const found = captured(input).itemSync();
    return [found, model.parameters()[0]!.grad!.norm().itemSync()];
  });
  const peak = (memory.stats('cpu').peakAllocated - before) / 1024;
  const within = budget ? `within ${budget} KiB` : 'without a budget';
  console.log(`${within}: ${peak.toFixed(0)} KiB at the peak, loss ${loss}, gradient ${slope}`);
  const told = captured
    .explain()
    .split('\n')
    .find((line) => line.includes('budget'));
  if (told) console.log(told);
  for (const parameter of model.parameters()) {
    parameter.grad?.dispose();
    parameter.grad = null;
  }
}
