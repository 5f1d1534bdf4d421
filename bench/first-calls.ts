/**
 * The time of a training step's first two and first fifty calls, in separate processes that import the published
 * files: without a cache, with the `TOSTATIC_CACHE` of an earlier process, and eager, interleaved. Run `npm run
 * build` first, then `npx tsx bench/first-calls.ts [--rounds 5]`.
 */

import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { programOf } from './published.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const rounds = Number(values.rounds);

const program = await programOf('training-jobs/first-calls.ts');

interface Times {
  readonly two: number;
  readonly fifty: number;
}

function run(job: string, way: string, cache: string): Times {
  const env = { ...process.env, TOSTATIC_CACHE: cache };
  return JSON.parse(
    execFileSync(process.execPath, [program, job, way], { env, encoding: 'utf8' }),
  ) as Times;
}

function median(of: readonly number[]): string {
  const sorted = [...of].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!.toFixed(0);
}

console.log('| | nothing known | known | eager |\n| --- | --- | --- | --- |');
for (const job of ['gpt', 'mlp']) {
  const cache = join(dirname(program), job);
  const ways = [
    () => run(job, 'captured', ''),
    () => run(job, 'captured', cache),
    () => run(job, 'eager', ''),
  ];
  for (const way of ways) way();
  const times = ways.map(() => [] as Times[]);
  for (let i = 0; i < rounds; i++) for (const [at, way] of ways.entries()) times[at]!.push(way());
  const row = (key: keyof Times) =>
    times.map((each) => median(each.map((t) => t[key]))).join(' | ');
  console.log(
    `| ${job}: first two calls | ${row('two')} |\n| ${job}: 50 calls | ${row('fifty')} |`,
  );
}
