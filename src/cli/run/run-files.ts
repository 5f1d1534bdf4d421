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

/** `tostatic run`: every file as a script in a fresh realm, one line of JSON for each, in their order. */
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
  for (const file of files) void add(file);
  if (files.length === 0 || !process.stdin.isTTY) {
    for await (const line of createInterface({ input: process.stdin })) {
      if (line.trim() !== '') void add(line.trim());
    }
  }
  await written;
  await pool.close();
  if (failed) process.exitCode = 1;
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
