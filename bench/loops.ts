/** The overhead of a loop iteration in a program beyond its kernels, and of a branch; the least of short runs. */

import { cpu } from '../runtime/device/cpu/cpu-device.ts';
import { opNamed } from '../runtime/ops/op-table.ts';
import { type Tensor, tensor, tidy, toStatic } from '../src/index.ts';

function least(body: () => void, rounds = 40): number {
  for (let i = 0; i < 5; i++) body();
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    body();
    best = Math.min(best, performance.now() - start);
  }
  return best * 1000;
}

const short = 100;
const long = 1100;

const loop = toStatic(
  (x: Tensor, n: Tensor) => {
    let [y, i] = [x, n.mul(0)];
    while (i.lt(n).itemSync()) {
      y = y.mul(1.0001);
      i = i.add(1);
    }
    return y;
  },
  { fullGraph: true },
);

const x = tensor(Array.from({ length: 16 }, (_, i) => i / 16));
const run = (iterations: number) => {
  const n = tensor([iterations]);
  return least(() => tidy(() => loop(x, n)));
};
const turn = (run(long) - run(short)) / (long - short);

/** The kernels of one iteration, launched one after another on existing memory. */
const [y, one, test] = [x.clone(), tensor([0]), tensor([0]).lt(1)];
const launches = [
  [cpu.prepare(opNamed('mulScalar'), [y], [y], { value: 1.0001 }), [y], [y]] as const,
  [cpu.prepare(opNamed('addScalar'), [one], [one], { value: 0 }), [one], [one]] as const,
  [cpu.prepare(opNamed('lt'), [one, one], [test], {}), [one, one], [test]] as const,
];
const kernels =
  least(() => {
    for (let i = 0; i < 1000; i++) for (const [launch, a, b] of launches) launch([...a], [...b]);
  }) / 1000;

console.log(
  `a turn of 3 kernels: ${turn.toFixed(2)} µs, of which kernels ${kernels.toFixed(2)} µs`,
);
console.log(`above its kernels: ${(turn - kernels).toFixed(2)} µs`);
