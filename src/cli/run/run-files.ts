import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { realmRuntime, workerProgram } from './realm-runtime.ts';
import type { RunResult } from './run-result.ts';
import { WorkerPool } from './worker-pool.ts';

interface RunOptions {
  readonly executor?: string;
  readonly suspendEverywhere?: boolean;
  readonly timeout?: string;
  readonly jobs?: string;
}

/** `tostatic run`: runs every file as a script in a fresh realm, and prints one line of JSON for each, in order. */
export async function runFiles(files: readonly string[], options: RunOptions): Promise<void> {
  const { suspendEverywhere = false } = options;
  const pool = new WorkerPool({
    runtime: await realmRuntime(),
    program: await workerProgram(),
    execution: { executor: executorOf(options.executor), suspendEverywhere },
    milliseconds: positive('timeout', options.timeout ?? '10000'),
    workers: positive('jobs', options.jobs ?? String(Math.min(2, availableParallelism()))),
  });
  let written: Promise<unknown> = Promise.resolve();
  let failed = false;
  const add = (file: string): Promise<RunResult> => {
    const result = pool.run(file);
    written = written.then(async () => {
      const { ok } = await result;
      if (!ok) failed = true;
      process.stdout.write(`${JSON.stringify(await result)}\n`);
    });
    return result;
  };
  const added = Promise.all(files.map(add));
  // Without files, all names come from standard input; with files, it may remain open without further names.
  await readNames(add, files.length === 0 ? undefined : added);
  await written;
  await pool.close();
  if (failed) process.exitCode = 1;
}

/** How long standard input may be silent once `given` is done. */
const graceMilliseconds = 1000;

/** Reads one name per line, until standard input ends. */
async function readNames(add: (file: string) => void, added?: Promise<unknown>): Promise<void> {
  if (added && process.stdin.isTTY) return;
  const lines = createInterface({ input: process.stdin });
  let silent = true;
  lines.on('line', (line) => {
    silent = false;
    if (line.trim() !== '') add(line.trim());
  });
  const ended = new Promise((resolve) => lines.once('close', resolve));
  const finished = added?.then(async () => {
    await new Promise((resolve) => setTimeout(resolve, graceMilliseconds).unref());
    if (silent) lines.close();
    return ended;
  });
  await (finished ? Promise.race([ended, finished]) : ended);
  if (silent) process.stdin.destroy();
}

function executorOf(name = 'machine'): 'machine' | 'interpreter' {
  if (name === 'machine' || name === 'interpreter') return name;
  throw new ArgumentError({
    what: 'run: no such executor',
    given: `--executor ${name}`,
    expected: 'machine or interpreter',
    remedy: 'leave it out for the generated state machine',
  });
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new ArgumentError({
    what: `run: --${option} is not a number`,
    given: text,
    expected: 'a number above 0',
    remedy: `leave out --${option} for the default`,
  });
}
