/** A kernel of your own: a JavaScript function that a GPU runs per element, with a gradient, in a captured step. */

import {
  type Device,
  gpuKernel,
  init,
  optim,
  randn,
  seed,
  type Tensor,
  toStatic,
  zeros,
} from '../src/index.ts';

/** Two lists of points → their squared distances. */
const distances = gpuKernel(
  function distances(a: number[][], b: number[][]) {
    let sum = 0;
    for (let k = 0; k < this.constants.size; k++) {
      const d = a[this.thread.y]![k]! - b[this.thread.x]![k]!;
      sum += d * d;
    }
    return sum;
  },
  {
    shape: (a, b) => [a[0]!, b[0]!],
    constants: { size: 2 },
    gradient: (gradient, [a, b]) => {
      const [rows, columns] = [
        gradient.sum({ dim: 1, keepDim: true }),
        gradient.sum({ dim: 0 }).unsqueeze(1),
      ];
      return [
        a.mul(rows).sub(gradient.matmul(b)).mul(2),
        b.mul(columns).sub(gradient.t().matmul(a)).mul(2),
      ];
    },
  },
);

const isGpu = process.argv.includes('--gpu');
const gpu: Device | null = isGpu ? await init('gpu') : null;
seed(1);
const place = (x: Tensor): Tensor => (gpu ? x.to(gpu) : x);
const points = place(randn([200, 2]));
const centres = place(zeros([4, 2]).add(randn([4, 2]).mul(0.1)))
  .detach()
  .requiresGrad_();
const optimizer = new optim.Adam([centres], { lr: 0.1 });

/** Soft k-means: each point attracts its nearest centres. */
const step = toStatic(() => {
  optimizer.zeroGrad();
  const loss = distances(points, centres).neg().logsumexp(1).neg().mean();
  loss.backward();
  optimizer.step();
  return loss;
});

for (let i = 0; i < 50; i++) {
  const loss = await step().item();
  if (i % 10 === 0) console.log(`step ${i}: loss ${loss.toFixed(4)}`);
}
const { graphs, breaks } = step.stats();
console.log(`${graphs} graphs, ${breaks.length} breaks, on ${centres.device.name}`);
