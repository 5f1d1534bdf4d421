/**
 * Works with checksums: one step eagerly, captured, and captured without fused kernels, interleaved in one
 * process. Prints the least and the median of the rounds; fails where checksums differ.
 */

import { events } from '../runtime/memory/events.ts';
import { type Tensor, tidy, toStatic } from '../src/index.ts';
import { type Work, works } from './works/works.ts';

interface Timed {
  readonly work: Work;
  readonly run: () => void;
  readonly times: number[];
  kernels: number;
}

const rounds = Number(process.argv[2] ?? 25);

function timed(work: Work, call: () => Tensor | undefined): Timed {
  return { work, run: () => call()?.dispose(), times: [], kernels: 0 };
}

let failed = false;
for (const { name, title, ops, make } of works()) {
  const [eager, captured, plain] = [make(), make(), make()];
  const unfused = { passes: { fusePointwise: false, fuseRows: false, fuseUpdates: false } };
  const ways = [
    timed(eager, () => tidy(eager.step)),
    timed(captured, toStatic(captured.step)),
    timed(plain, toStatic(plain.step, unfused)),
  ];
  const repeat = ops ? 200 : 1;
  for (let round = -3; round < rounds; round++) {
    for (const way of ways) {
      const { kernels } = events;
      const start = performance.now();
      for (let i = 0; i < repeat; i++) way.run();
      const ms = (performance.now() - start) / repeat;
      way.kernels = (events.kernels - kernels) / repeat;
      if (round >= 0) way.times.push(ms);
    }
  }
  const sums = ways.map(({ work }) => work.checksum());
  const isSame = sums.every((sum) => Object.is(sum, sums[0]));
  failed ||= !isSame;
  const least = ways.map(({ times }) => Math.min(...times));
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
