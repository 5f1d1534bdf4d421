/**
 * The works with 1, 2 and 4 threads in one process, interleaved, each with a checksum that must not depend on the
 * number of threads: `npx tsx bench/threads.ts [works]`. Prints the least milliseconds of several rounds; other load on
 * the machine shows in the ratios.
 */

import { availableParallelism } from 'node:os';
import { pool } from '../runtime/device/cpu/threads/pool.ts';
import {
  conv2d,
  crossEntropy,
  init,
  mseLoss,
  nn,
  optim,
  randn,
  relu,
  scaledDotProductAttention,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../src/index.ts';

interface Work {
  readonly name: string;
  /** Returns a step, whose result is added to the checksum. */
  readonly make: () => () => Tensor;
}

function mlp(): () => Tensor {
  const layers = [new nn.Linear(784, 512), new nn.Linear(512, 512), new nn.Linear(512, 10)];
  const optimizer = new optim.SGD(
    layers.flatMap((layer) => [...layer.parameters()]),
    { lr: 0.1 },
  );
  const x = randn([128, 784]);
  const labels = tensor(Int32Array.from({ length: 128 }, (_, i) => i % 10));
  return () => {
    const [first, second, third] = layers as [nn.Linear, nn.Linear, nn.Linear];
    const hidden = relu(second.forward(relu(first.forward(x))));
    const loss = crossEntropy(third.forward(hidden), labels);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
}

/** A pre-norm block: batch 8, 128 positions, width 256, 4 heads, 1024 hidden. */
class Block extends nn.Module {
  readonly norm1 = new nn.LayerNorm(256);
  readonly norm2 = new nn.LayerNorm(256);
  readonly queries = new nn.Linear(256, 768);
  readonly out = new nn.Linear(256, 256);
  readonly up = new nn.Linear(256, 1024);
  readonly down = new nn.Linear(1024, 256);

  override forward(x: Tensor): Tensor {
    const all = this.queries.forward(this.norm1.forward(x));
    const [q, k, v] = [0, 1, 2].map((i) =>
      all
        .narrow(-1, i * 256, 256)
        .reshape([8, 128, 4, 64])
        .transpose(1, 2),
    ) as [Tensor, Tensor, Tensor];
    const heads = scaledDotProductAttention(q, k, v).transpose(1, 2).reshape([8, 128, 256]);
    const mixed = x.add(this.out.forward(heads));
    const hidden = this.up.forward(this.norm2.forward(mixed)).gelu('tanh');
    return mixed.add(this.down.forward(hidden));
  }
}

function block(): () => Tensor {
  const model = new Block();
  const optimizer = new optim.SGD([...model.parameters()], { lr: 0.1 });
  const [x, y] = [randn([8, 128, 256]), randn([8, 128, 256])];
  return () => {
    const loss = mseLoss(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
}

function convolution(): () => Tensor {
  const x = randn([16, 32, 32, 32]).requiresGrad_();
  const w = randn([64, 32, 3, 3]).requiresGrad_();
  return () => {
    const loss = conv2d(x, w, null, { padding: 1 }).square().mean();
    loss.backward();
    const sum = x.grad!.sum().add(w.grad!.sum());
    x.grad = null;
    w.grad = null;
    return sum;
  };
}

function chain(): () => Tensor {
  const x = randn([4, 1 << 20]);
  return () => {
    const c = x.mul(0.5).add(0.25).tanh();
    const f = c.mul(c).neg().add(1).exp();
    return f.sub(x).relu().add(c).mul(0.3).exp().div(f).sum();
  };
}

function product(size: number): () => Tensor {
  const [a, b] = [randn([size, size]), randn([size, size])];
  return () => a.matmul(b).sum();
}

const works: readonly Work[] = [
  { name: 'W1 512³', make: () => product(512) },
  { name: 'W1 1024³', make: () => product(1024) },
  { name: 'W3 MLP step', make: mlp },
  { name: 'W4 block step', make: block },
  { name: 'W5 conv f+b', make: convolution },
  { name: 'W6 chain 4 Mi', make: chain },
];

const counts = [1, 2, 4].filter((count) => count <= availableParallelism());
const selected = process.argv.slice(2);
const rounds = 12;

await init('cpu', { threads: Math.max(...counts) });
console.log(
  `                       ${counts.map((n) => `${n} thread${n > 1 ? 's' : ''}`.padStart(18)).join('')}   checksum`,
);
for (const { name, make } of works) {
  if (selected.length > 0 && !selected.some((start) => name.startsWith(start))) continue;
  for (const mode of ['eager', 'captured'] as const) {
    // Every count runs the same steps from the same state.
    const runs = counts.map((threads) => {
      seed(1);
      const step = make();
      return { threads, step: mode === 'eager' ? step : toStatic(step), least: Infinity, sum: 0 };
    });
    for (let round = 0; round < rounds; round++) {
      for (const run of runs) {
        pool.threads = run.threads;
        for (let i = 0; i < 3; i++) {
          const start = performance.now();
          const result = tidy(run.step);
          run.least = Math.min(run.least, performance.now() - start);
          run.sum = result.itemSync();
          result.dispose();
        }
      }
    }
    const [alone] = runs;
    const cells = runs.map(
      ({ least }) =>
        `${least.toFixed(2).padStart(10)} ${(alone!.least / least).toFixed(2).padStart(5)}×`,
    );
    const isSame = runs.every(({ sum }) => Object.is(sum, alone!.sum));
    console.log(
      `${`${name}, ${mode}`.padEnd(24)} ${cells.join(' ')}   ${isSame ? alone!.sum.toPrecision(9) : 'DIFFERENT'}`,
    );
    if (!isSame) process.exitCode = 1;
  }
}
