/**
 * Works with checksums: one step eager, captured, and captured without fused kernels, interleaved in one process.
 * Prints the minimum and the median of the rounds; fails if checksums differ.
 *
 *     npx tsx bench/works.ts [--rounds 25] [--only W3,W4] [--revectorize] [--json]
 */

import { parseArgs } from 'node:util';
import { describeNumerics } from '../runtime/device/cpu/numerics-report.ts';
import { pool } from '../runtime/device/cpu/threads/pool.ts';
import { events } from '../runtime/memory/events.ts';
import { init, type Tensor, tidy, toStatic } from '../src/index.ts';
import type { Work } from './works/work.ts';
import { works } from './works/works.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '25' },
    only: { type: 'string' },
    revectorize: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const selected = options.only?.split(',');

interface Timed {
  readonly work: Work;
  readonly run: () => void;
  readonly times: number[];
  kernels: number;
}

function timed(work: Work, call: () => Tensor | undefined): Timed {
  return { work, run: () => call()?.dispose(), times: [], kernels: 0 };
}

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[times.length >> 1]!;

const { revectorize } = options;
await init('cpu', { threads: pool.threads, revectorize });
if (!options.json) {
  console.log(`Node ${process.version}, ${describeNumerics()}, ${pool.threads} threads`);
}
let failed = false;
for (const { name, title, ops, repeat = 1, make } of works()) {
  if (selected && !selected.includes(name)) continue;
  const [eager, captured, plain] = [make(), make(), make()];
  const unfused = { passes: { fusePointwise: false, fuseRows: false, fuseUpdates: false } };
  const compiled = toStatic(captured.step);
  const ways = [
    timed(eager, () => tidy(eager.step)),
    timed(captured, compiled),
    timed(plain, toStatic(plain.step, unfused)),
  ];
  const calls = ops ? 200 : repeat;
  for (let round = -3; round < rounds; round++) {
    // The final plan is compared.
    if (round === 0) await compiled.ready();
    // Which way runs after which changes what lies in the caches: both orders are taken.
    for (const way of round % 2 ? ways.toReversed() : ways) {
      const { kernels } = events;
      const start = performance.now();
      for (let i = 0; i < calls; i++) way.run();
      const ms = performance.now() - start;
      way.kernels = (events.kernels - kernels) / calls;
      if (round >= 0) way.times.push(ops ? ms / calls : ms);
    }
  }
  const sums = ways.map(({ work }) => work.checksum());
  const isSame = sums.every((sum) => Object.is(sum, sums[0]));
  failed ||= !isSame;
  const least = ways.map(({ times }) => Math.min(...times));
  if (options.json) {
    const medians = ways.map(({ times }) => median(times));
    console.log(JSON.stringify({ name, least, medians, checksum: sums[0], isSame }));
    continue;
  }
  const shown = least.map((ms) =>
    ops ? `${((ms * 1e6) / ops).toFixed(1)} ns/op` : `${ms.toFixed(2)} ms`,
  );
  const [a, b, c] = least as [number, number, number];
  console.log(
    `${name} ${title}\n` +
      `  eager ${shown[0]}, captured ${shown[1]}, ops one by one ${shown[2]}; ` +
      `captured is ${(a / b).toFixed(2)}× eager, ${(c / b).toFixed(2)}× ops one by one\n` +
      `  kernels a step: ${ways.map(({ kernels }) => kernels).join(', ')}; ` +
      `checksum ${sums[0]}${isSame ? '' : `, but ${sums.join(', ')}`}`,
  );
}
process.exit(failed ? 1 : 0);
