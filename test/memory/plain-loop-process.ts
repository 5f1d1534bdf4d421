/** A training loop in plain eager style, without tidy or dispose, in a process of its own: `wait` per step. */

import { setTimeout } from 'node:timers/promises';
import { data, memory, nn, optim, randn, type Tensor, tick } from '../../src/index.ts';

const [wait, count] = [process.argv[2], Number(process.argv[3])];
const warnings: string[] = [];
console.warn = (text: string) => void warnings.push(text);

const model = new nn.Sequential(new nn.Linear(8, 256), new nn.ReLU(), new nn.Linear(256, 8));
const optimizer = new optim.SGD(model.parameters(), { lr: 0.01 });

/** Makes more than 1 MiB that nothing gives back. */
function step(x: Tensor): Tensor {
  optimizer.zeroGrad();
  const loss = model.forward(x).exp().mean();
  loss.backward();
  optimizer.step();
  return loss;
}

const batch = () => randn([512, 8]);

if (wait === 'loader') {
  const loader = new data.DataLoader({ length: count, get: () => randn([512, 8]) }, {});
  for await (const x of loader) step(x as Tensor);
} else {
  for (let i = 0; i < count; i++) {
    const loss = step(batch());
    if (wait === 'item') await loss.item();
    else if (wait === 'tick') await tick();
  }
}
const { peakAllocated } = memory.stats('cpu');
await setTimeout(10);
process.stdout.write(JSON.stringify({ peakAllocated, warnings }));
