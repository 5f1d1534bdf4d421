/**
 * What capturing costs: source, scope and bytecode of a 100-line function of a module whose other functions
 * were captured before, as a user's functions are; then scopes alone. Processor time, as the wall clock
 * would count what other processes take.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  captureFunction,
  endCaptureSession,
  isRefusal,
  withCaptureSession,
} from '../src/1-capture/capture.ts';
import { codeOf } from '../src/code-cache.ts';

type Fn = (...args: never[]) => unknown;

/** Milliseconds. */
function time(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** A module of functions of 100 lines. */
function moduleText(count: number): string {
  const functions = Array.from({ length: count }, (_, i) => {
    const lines = Array.from({ length: 24 }, (_, j) =>
      [
        `  const { a${j}, b${j} = ${j} } = items[${j % 3}] ?? {};`,
        `  for (const item of items) { if (item.size > ${j}) total += scale(item.size * a${j}); }`,
        `  try { total = total > limit ? total - b${j} : add(total, ${i + j}); }`,
        '  catch (error) { failures.push(error.message); }',
      ].join('\n'),
    );
    return `export function long${i}(items) {\n  let total = 0;\n${lines.join('\n')}\n  limit++;\n  return total;\n}`;
  });
  const around =
    'let limit = 10; const failures = [], scale = (x) => x * 2, add = (x, y) => x + y;';
  return [around, ...functions].join('\n');
}

async function functionsOf(folder: string, name: string, count: number): Promise<Fn[]> {
  const file = join(folder, name);
  writeFileSync(file, moduleText(count));
  return Object.values((await import(pathToFileURL(file).href)) as Record<string, Fn>);
}

const summary = (times: readonly number[]): string => {
  const sorted = [...times].sort((a, b) => a - b);
  return `${sorted[0]!.toFixed(2)} ms (median ${sorted[sorted.length >> 1]!.toFixed(2)})`;
};

/** A turn of its own for each: its session ends with it. */
async function inTurns(functions: readonly Fn[], capture: (fn: Fn) => void): Promise<number[]> {
  const times: number[] = [];
  for (const fn of functions) {
    times.push(time(() => capture(fn)));
    await Promise.resolve();
  }
  return times;
}

const folder = mkdtempSync(join(tmpdir(), 'tostatic-bench-'));
try {
  const warm = await functionsOf(folder, 'warm.mjs', 10);
  const long = await functionsOf(folder, 'long.mjs', 31);
  const first = time(() => void codeOf(warm[0]!));
  for (const fn of warm.slice(1)) codeOf(fn);
  endCaptureSession();
  const inFile = time(() => void codeOf(long[0]!));
  const together = long.slice(1, 16).map((fn) => time(() => void codeOf(fn)));
  endCaptureSession();
  const alone = await inTurns(long.slice(16), (fn) => void codeOf(fn));
  console.log(`capture + lower of 100 lines: the first of the process ${first.toFixed(1)} ms,`);
  console.log(`  the first of a file of ${31 * 100} lines ${inFile.toFixed(1)} ms,`);
  console.log(`  others in the same turn ${summary(together)},`);
  console.log(`  in a turn of its own, with opening the debugger, ${summary(alone)}`);

  let counter = 1;
  const made = Array.from({ length: 60 }, (_, i) => (x: number) => x + i + counter);
  counter++;
  const inner = withCaptureSession(() =>
    made.slice(0, 30).map((fn) => time(() => void captureFunction(fn))),
  );
  endCaptureSession();
  const each = await inTurns(made.slice(30), (fn) => void captureFunction(fn));
  const captured = captureFunction(made[0]!);
  if (isRefusal(captured)) throw new Error(captured.detail);
  const read = captured.scope.reader('counter');
  const reads = time(() => {
    for (let i = 0; i < 200_000; i++) read();
  });
  console.log(`scope of a small closure: in a session ${summary(inner)}, alone ${summary(each)}`);
  console.log(`a read of a variable ${(reads * 5).toFixed(0)} ns`);
} finally {
  rmSync(folder, { recursive: true });
}
