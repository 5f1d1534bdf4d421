/**
 * Training steps with `backend: 'onnxruntime'` beside graphs of the same work that are written by hand and fed with their
 * own results, each in a process of its own, in turns. Install the package first:
 *
 *     (cd bench/peers && npm install --ignore-scripts)
 *     npx tsx bench/onnxruntime/main.ts [--only W3,W4] [--rounds 40] [--threads 1] [--folder bench/peers]
 *
 * Prints the least and the median milliseconds of a step, by the clock and of the processor, and the ratios to the
 * hand-written graph; and what was copied between our memory and the engine's arrays in one step.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { parseArgs } from 'node:util';
import type { Answer, Told } from './contender.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'W3,W4' },
    rounds: { type: 'string', default: '40' },
    threads: { type: 'string', default: '1' },
    folder: { type: 'string', default: `${import.meta.dirname}/../peers` },
  },
});

const least = (times: readonly number[]): number => Math.min(...times);
const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[times.length >> 1]!;

function asked(child: ChildProcess, told: Told): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('a process has ended'));
    child.once('exit', ended);
    child.once('message', (answer) => {
      child.off('exit', ended);
      resolve(answer as Answer);
    });
    child.send(told);
  });
}

const titles = {
  backend: "backend: 'onnxruntime'",
  hand: 'hand-written',
  'hand-without-gradients': 'hand-written, gradients not returned',
};

for (const work of options.only.split(',')) {
  const ways = Object.entries(titles).map(([kind, title]) => {
    const args = [kind, work, options.folder, options.threads];
    const child = fork(`${import.meta.dirname}/contender.ts`, args);
    return { title, child, wall: [] as number[], cpu: [] as number[] };
  });
  const first: Answer[] = [];
  for (const { child } of ways) first.push(await asked(child, { steps: 4, isAsked: true }));
  const [own, ...hand] = first.map(({ losses }) => losses);
  const error = Math.max(
    ...hand.flatMap((losses) => losses.map((loss, i) => Math.abs(loss - own![i]!))),
  );
  if (!(error < 1e-3)) throw new Error(`${work}: not the same work: ${JSON.stringify(first)}`);
  console.log(`${work}: losses differ by ${error.toExponential(1)} at most; ${first[0]!.about}`);
  for (let round = -5; round < Number(options.rounds); round++) {
    for (const { child, wall, cpu } of round % 2 === 0 ? ways : ways.toReversed()) {
      const answer = await asked(child, { steps: 6 });
      if (round < 0) continue;
      wall.push(answer.wall);
      cpu.push(answer.cpu);
    }
  }
  const [, base] = ways;
  for (const { title, wall, cpu, child } of ways) {
    const shown = [least(wall), median(wall), least(cpu), median(cpu)].map((ms) => ms.toFixed(2));
    const ratios = [
      least(wall) / least(base!.wall),
      median(wall) / median(base!.wall),
      least(cpu) / least(base!.cpu),
      median(cpu) / median(base!.cpu),
    ].map((ratio) => `${ratio.toFixed(2)}×`);
    console.log(`  ${title}: ${shown.join(', ')} ms (${ratios.join(', ')})`);
    child.kill();
  }
}
