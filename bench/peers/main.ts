/**
 * The works compared with other libraries, each in its own processes, interleaved. Install them first:
 *
 *     (cd bench/peers && npm install --ignore-scripts)
 *     npx tsx bench/peers/main.ts [--rounds 3] [--steps 15] [--threads 1] [--only W3,W4] [--revectorize]
 *
 * Prints a Markdown table of the least milliseconds per step, and the load of the machine.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '15' },
    threads: { type: 'string', default: '1' },
    only: { type: 'string', default: 'W1,W1b,W3,W4f,W4,W5,W6,W7,W8,W9,W10,W11,W12' },
    revectorize: { type: 'boolean', default: false },
  },
});
const { steps, threads } = options;
const here = import.meta.dirname;
const models = mkdtempSync(join(tmpdir(), 'peers-'));

/** Standard output of a process, or nothing if it fails. */
function output(args: readonly string[]): string {
  const env = { ...process.env, TOSTATIC_THREADS: threads };
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}

interface Contender {
  readonly name: string;
  /** Least milliseconds of a step; null if the library can't run the work. */
  readonly measure: (work: string) => readonly (number | null)[];
}

const own = (work: string): readonly (number | null)[] => {
  const args = ['--import', 'tsx', join(here, '../works.ts')];
  if (options.revectorize) args.push('--revectorize');
  const printed = output([...args, '--only', work, '--rounds', steps, '--json']);
  return printed ? (JSON.parse(printed) as { least: number[] }).least.slice(0, 2) : [null, null];
};

const peer =
  (script: string, ...before: string[]) =>
  (work: string): readonly (number | null)[] => {
    const printed = output([join(here, script), ...before, work, steps, threads]);
    return [printed ? (JSON.parse(printed) as { least: number }).least : null];
  };

const contenders: readonly Contender[] = [
  { name: 'eager | captured', measure: own },
  { name: 'tfjs (wasm)', measure: peer('tfjs.mjs') },
  { name: 'jax-js (jit)', measure: peer('jax-js.mjs') },
  { name: 'onnxruntime-web', measure: peer('onnxruntime.mjs', 'onnxruntime-web', models) },
  { name: 'onnxruntime-node', measure: peer('onnxruntime.mjs', 'onnxruntime-node', models) },
];

output(['--import', 'tsx', join(here, 'export-works.ts'), models]);
const load = (): string => loadavg()[0]!.toFixed(1);
console.log(
  `Node ${process.version}, ${cpus()[0]?.model}, ${cpus().length} cores, load ${load()}; ` +
    `${threads} threads, least of ${options.rounds} × ${steps} steps, ms\n`,
);
console.log(`| | ${contenders.map(({ name }) => name).join(' | ')} |`);
console.log(`|${' --- |'.repeat(contenders.length + 2)}`);
for (const work of options.only.split(',')) {
  const least: (number | null)[][] = contenders.map(() => []);
  for (let round = 0; round < Number(options.rounds); round++) {
    contenders.forEach(({ measure }, i) => {
      measure(work).forEach((ms, column) => {
        const known = least[i]![column];
        least[i]![column] = known == null ? ms : ms === null ? known : Math.min(known, ms);
      });
    });
  }
  const cells = least.flat().map((ms) => (ms === null ? '–' : ms.toPrecision(3)));
  console.log(`| ${work} | ${cells.join(' | ')} |`);
}
console.log(`\nload at the end ${load()}`);
rmSync(models, { recursive: true });
