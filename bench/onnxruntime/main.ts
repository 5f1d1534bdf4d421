/**
 * Training steps with `backend: 'onnxruntime'` compared with hand-written graphs of the same work that receive their
 * own results, each in its own process, interleaved. Install the package first:
 *
 *     (cd bench/peers && npm install --ignore-scripts)
 *     npx tsx bench/onnxruntime/main.ts [--only W3,W4] [--rounds 40] [--threads 1] [--folder bench/peers]
 *
 * Prints the output of `bench/interleaved.ts`, with ratios to the hand-written graph, and the bytes copied between our
 * memory and the engine's arrays in one step.
 */

import { parseArgs } from 'node:util';
import { compareInterleaved } from '../interleaved.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'W3,W4' },
    rounds: { type: 'string', default: '40' },
    threads: { type: 'string', default: '1' },
    folder: { type: 'string', default: `${import.meta.dirname}/../peers` },
  },
});

const titles = {
  backend: "backend: 'onnxruntime'",
  hand: 'hand-written',
  'hand-freed': 'hand-written, results freed after the next step',
  'hand-without-gradients': 'hand-written, gradients not returned',
};

for (const work of options.only.split(',')) {
  const contenders = Object.entries(titles).map(([kind, title]) => ({
    title,
    script: `${import.meta.dirname}/contender.ts`,
    args: [kind, work, options.folder, options.threads],
  }));
  const rounds = Number(options.rounds);
  await compareInterleaved(work, contenders, { rounds, steps: 6, base: 1, tolerance: 1e-3 });
}
