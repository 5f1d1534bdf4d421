/**
 * The cost of capture: source, scope and bytecode of 100-line functions in modules of 1,000 lines, after 60 similar
 * ones; the debugger's share of it; then scopes alone. Measures processor time, because wall time would include other
 * processes.
 */

import '../src/1-capture/inspector.ts';
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
import { DebuggerSession } from '../src/1-capture/live/debugger-session.ts';
import { codeOf } from '../src/dispatch/code-cache.ts';

type Fn = (...args: never[]) => unknown;

/** Milliseconds. */
function time(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

type Kind = 'mjs' | 'cjs';

/** A module of 100-line functions. */
function moduleText(count: number, kind: Kind): string {
  const functions = Array.from({ length: count }, (_, i) => {
    const lines = Array.from({ length: 24 }, (_, j) =>
      [
        `  const { a${j}, b${j} = ${j} } = items[${j % 3}] ?? {};`,
        `  for (const item of items) { if (item.size > ${j}) total += scale(item.size * a${j}); }`,
        `  try { total = total > limit ? total - b${j} : add(total, ${i + j}); }`,
        '  catch (error) { failures.push(error.message); }',
      ].join('\n'),
    );
    const name = `long${String(i).padStart(2, '0')}`;
    const text = `function ${name}(items) {\n  let total = 0;\n${lines.join('\n')}\n  limit++;\n  return total;\n}`;
    return kind === 'mjs' ? `export ${text}` : `${text}\nexports.${name} = ${name};`;
  });
  const around =
    'let limit = 10; const failures = [], scale = (x) => x * 2, add = (x, y) => x + y;';
  return [around, ...functions].join('\n');
}

let files = 0;

async function functionsOf(folder: string, kind: Kind, count = 10): Promise<Fn[]> {
  const file = join(folder, `${kind}${files++}.${kind}`);
  writeFileSync(file, moduleText(count, kind));
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const { default: exported = module } = module;
  return Object.values(exported as Record<string, Fn>);
}

const summary = (times: readonly number[]): string => {
  const sorted = [...times].sort((a, b) => a - b);
  return `${sorted[0]!.toFixed(2)} ms (median ${sorted[sorted.length >> 1]!.toFixed(2)})`;
};

/** Awaits after each function, because microtasks end the debugger's session. */
async function inTurns(functions: readonly Fn[], capture: (fn: Fn) => void): Promise<number[]> {
  const times: number[] = [];
  for (const fn of functions) {
    times.push(time(() => capture(fn)));
    await Promise.resolve();
  }
  return times;
}

/** Milliseconds spent in calls of the engine's inspector during `run`. */
function timeInEngine(run: () => void): number {
  const { post } = DebuggerSession.prototype;
  let spent = 0;
  DebuggerSession.prototype.post = function (this: DebuggerSession, ...args) {
    const start = process.cpuUsage();
    try {
      return post.apply(this, args);
    } finally {
      const { user, system } = process.cpuUsage(start);
      spent += (user + system) / 1000;
    }
  } as typeof post;
  try {
    run();
  } finally {
    DebuggerSession.prototype.post = post;
  }
  return spent;
}

const lowered = (fn: Fn): void => {
  const found = codeOf(fn);
  if ('refused' in found) throw new Error(found.why);
};

const folder = mkdtempSync(join(tmpdir(), 'tostatic-bench-'));
try {
  const warm = await functionsOf(folder, 'mjs');
  const first = time(() => lowered(warm[0]!));
  console.log(`capture + lower of 100 lines: the first of the process ${first.toFixed(1)} ms`);
  for (const kind of ['mjs', 'cjs', 'mjs', 'cjs', 'mjs', 'cjs'] as const) {
    for (const fn of await functionsOf(folder, kind)) lowered(fn);
    endCaptureSession();
  }
  for (const [name, kind] of [
    ['an ES module', 'mjs'],
    ['CommonJS', 'cjs'],
  ] as const) {
    const inFile: number[] = [];
    const together: number[] = [];
    const alone: number[] = [];
    for (let i = 0; i < 4; i++) {
      const [leader, ...others] = await functionsOf(folder, kind);
      inFile.push(time(() => lowered(leader!)));
      if (i % 2 === 0) together.push(...others.map((fn) => time(() => lowered(fn))));
      endCaptureSession();
      if (i % 2 === 1) alone.push(...(await inTurns(others, lowered)));
    }
    console.log(`of 1,000 lines of ${name}: the first of the file ${summary(inFile)},`);
    console.log(
      `  others in the same turn ${summary(together)}, in turns of their own ${summary(alone)}`,
    );
  }

  // A mutable variable inside a function can only be read by a call under the debugger.
  const file = join(folder, 'inner.mjs');
  const maker = 'export const make = (from) => { from++; return (x) => x + from + limit }';
  writeFileSync(file, `${moduleText(10, 'mjs')}\n${maker}`);
  const { make } = (await import(pathToFileURL(file).href)) as { make: (from: number) => Fn };
  lowered(make(0));
  endCaptureSession();
  const closures = Array.from({ length: 20 }, (_, i) => make(i));
  const [probed, engine] = withCaptureSession(() => {
    const all = closures.slice(0, 10).map((fn) => time(() => lowered(fn)));
    return [all, closures.slice(10).map((fn) => timeInEngine(() => lowered(fn)))] as const;
  });
  endCaptureSession();
  console.log(`a closure inside a function of such a module, probed ${summary(probed)},`);
  console.log(`  of which the engine's own part ${summary(engine)}`);

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
