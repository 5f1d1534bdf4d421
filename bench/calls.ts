/**
 * Microseconds of a whole call of small functions, captured and eager: the least of several processes, interleaved, that
 * import the published files. Run `npm run build` first, then `npx tsx bench/calls.ts [--rounds 3]`.
 */

import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { programOf } from './published.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } });
const program = await programOf('calls/case.ts');
const env = { ...process.env, TOSTATIC_THREADS: '1' };

function run(name: string, way: string): number {
  return Number(execFileSync(process.execPath, [program, name, way], { env, encoding: 'utf8' }));
}

console.log('| µs a call | captured | eager |\n| --- | --- | --- |');
for (const name of ['one op', 'three breaks', 'W2']) {
  const times = { captured: Number.POSITIVE_INFINITY, eager: Number.POSITIVE_INFINITY };
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const way of ['captured', 'eager'] as const) {
      times[way] = Math.min(times[way], run(name, way));
    }
  }
  console.log(`| ${name} | ${times.captured.toPrecision(3)} | ${times.eager.toPrecision(3)} |`);
}
