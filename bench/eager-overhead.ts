/**
 * The overhead of an eager op beyond its arithmetic: a chain of 100 adds on 16 elements, in µs per op. The minimum of
 * many interleaved rounds, because load on the machine only adds time.
 */

import { ones, type Tensor, tensor, tidy } from '../runtime/index.ts';

const length = 100;
const start = tensor(new Float32Array(16).fill(1));
const step = tensor(new Float32Array(16).fill(0.5));
const leaf = tensor(new Float32Array(16).fill(1), { requiresGrad: true });

/** Disposes each value once the next one exists. */
function disposing(): void {
  let x = start.add(step);
  for (let i = 1; i < length; i++) {
    const next = x.add(step);
    x.dispose();
    x = next;
  }
  x.dispose();
}

function chain(first: Tensor): Tensor {
  let x = first;
  for (let i = 0; i < length; i++) x = x.add(step);
  return x;
}

const seed = ones([16]);
const ways: Readonly<Record<string, () => void>> = {
  'no gradient, dispose()': disposing,
  'no gradient, tidy()': () => tidy(() => void chain(start)),
  'no gradient, left to the collector': () => void chain(start),
  'a number instead of a tensor': () =>
    tidy(() => {
      let x = start;
      for (let i = 0; i < length; i++) x = x.add(1);
    }),
  'in place': () => {
    for (let i = 0; i < length; i++) start.add_(step);
  },
  'with tape, tidy()': () => tidy(() => void chain(leaf)),
  'with tape and backward, tidy()': () =>
    tidy(() => {
      chain(leaf).backward(seed);
      leaf.grad?.dispose();
      leaf.grad = null;
    }),
};

const least = new Map<string, number>();
const rounds = Number(process.argv[2] ?? 300);
for (let round = 0; round < rounds; round++) {
  for (const [name, run] of Object.entries(ways)) {
    const begin = performance.now();
    for (let k = 0; k < 20; k++) run();
    const time = (performance.now() - begin) / (20 * length);
    if (round >= rounds / 10) least.set(name, Math.min(least.get(name) ?? Infinity, time));
  }
}
console.log('µs per op, 16 elements');
for (const [name, time] of least) console.log(`${(time * 1e3).toFixed(3).padStart(8)}  ${name}`);
