/** Captures a function of tensors, trains with it, and explains the result and its memory. */

import { memory, noGrad, randn, seed, type Tensor, toStatic } from '../src/index.ts';

seed(1);
const input = randn([64, 32]);
const weight = randn([32, 16]).requiresGrad_();
const objective = toStatic((x: Tensor) => x.matmul(weight).tanh().pow(2).mean());

for (let step = 1; step <= 3; step++) {
  using loss = objective(input); // Traced once: later calls check guards and run kernels.
  loss.backward(); // One node: the planned backward program.
  noGrad(() => weight.add_(weight.grad!, -10));
  weight.grad!.dispose();
  weight.grad = null;
  console.log(`step ${step}: loss ${loss.itemSync().toFixed(4)}`);
}

const { allocated, peakAllocated } = memory.stats();
console.log(`\n${objective.explain()}`);
console.log(`${allocated} bytes are allocated, at most ${peakAllocated} were`);
