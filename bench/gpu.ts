/**
 * The GPU device: products, memory bandwidth, and steps of the works, eager and captured. Prints the median of the
 * rounds; a round is many runs, and JavaScript only waits for the last.
 *
 *     npx tsx bench/gpu.ts [--rounds 7] [--ms 100] [--only products,memory,W3] [--largest 4096] [--json]
 */

import { parseArgs } from 'node:util';
import { initGpu } from '../runtime/device/gpu/init.ts';
import { deviceGuard, randn, type Tensor, tidy, toStatic } from '../src/index.ts';
import { works } from './works/works.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    /** The least duration of a round. */
    ms: { type: 'string', default: '100' },
    only: { type: 'string', default: 'products,memory,W3,W4f,W4,W5,W6,W7,W8,W9,W10,W11,W12' },
    largest: { type: 'string', default: '4096' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const leastMs = Number(options.ms);
const largest = Number(options.largest);
const selected = new Set(options.only.split(','));

const gpu = await initGpu();

const onGpu = <T>(body: () => T): T => deviceGuard(gpu, body);

/** Milliseconds of one run: the median of the rounds. */
async function timeOf(run: () => Tensor | undefined): Promise<number> {
  const round = async (runs: number): Promise<number> => {
    const start = performance.now();
    onGpu(() => {
      for (let i = 0; i < runs; i++) run()?.dispose();
    });
    await gpu.synchronize();
    return performance.now() - start;
  };
  for (let i = 0; i < 3; i++) await round(1);
  let runs = 1;
  for (let ms = await round(1); ms < leastMs && runs < 4096; ms = await round(runs)) runs *= 2;
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) times.push((await round(runs)) / runs);
  return times.toSorted((a, b) => a - b)[rounds >> 1]!;
}

function print(name: string, facts: Readonly<Record<string, number>>): void {
  if (options.json) {
    console.log(JSON.stringify({ name, ...facts }));
    return;
  }
  const shown = Object.entries(facts).map(([unit, value]) => `${value.toPrecision(3)} ${unit}`);
  console.log(`${name}: ${shown.join(', ')}`);
}

async function products(): Promise<void> {
  const shapes = [512, 1024, 2048, 4096].map((size) => [size, size, size] as const);
  const narrow = [
    [128, 784, 512],
    [1024, 256, 1024],
    [1, 1024, 1024],
  ] as const;
  for (const [m, k, n] of [...shapes, ...narrow]) {
    if (Math.max(m, k, n) > largest) continue;
    const [x, y] = onGpu(() => [randn([m, k]), randn([k, n])] as const);
    const ms = await timeOf(() => x.matmul(y));
    print(`product ${m} × ${k} × ${n}`, { ms, 'GFLOP/s': (2 * m * k * n) / ms / 1e6 });
    x.dispose();
    y.dispose();
  }
}

/** Prints the bytes that must be read and written, divided by the time. */
async function memory(): Promise<void> {
  const rows = largest;
  const [x, y] = onGpu(() => [randn([rows, 4096]), randn([rows, 4096])] as const);
  const bytes = rows * 4096 * 4;
  const cases: readonly (readonly [string, number, () => Tensor])[] = [
    ['copy', 2, () => x.clone()],
    ['add', 3, () => x.add(y)],
    ['add, transposed', 3, () => x.add(y.reshape([4096, rows]).t())],
    ['tanh', 2, () => x.tanh()],
    ['sum of all', 1, () => x.sum()],
    ['sum of rows', 1, () => x.sum({ dim: 1 })],
    ['sum of columns', 1, () => x.sum({ dim: 0 })],
    ['softmax', 2, () => x.softmax(1)],
  ];
  for (const [name, passes, run] of cases) {
    const ms = await timeOf(() => tidy(run));
    print(`${name} [${rows}, 4096]`, { ms, 'GB/s': (passes * bytes) / ms / 1e6 });
  }
  x.dispose();
  y.dispose();
}

async function steps(): Promise<void> {
  for (const { name, title, ops, make } of works()) {
    if (ops || !selected.has(name)) continue;
    const [eager, captured] = onGpu(() => [make(), make()] as const);
    const compiled = toStatic(captured.step);
    const eagerMs = await timeOf(() => tidy(eager.step));
    await timeOf(compiled);
    await compiled.ready();
    const capturedMs = await timeOf(compiled);
    const { dispatches } = gpu.commandCounts;
    onGpu(compiled)?.dispose();
    print(`${name} ${title}`, {
      'ms eagerly': eagerMs,
      'ms captured': capturedMs,
      dispatches: gpu.commandCounts.dispatches - dispatches,
    });
  }
}

if (!options.json) console.log(`Node ${process.version}, ${gpu.adapter}`);
if (selected.has('products')) await products();
if (selected.has('memory')) await memory();
await steps();
process.exit(0);
