/** What capturing costs: source, scope and bytecode of a 100-line function, then scopes alone. */

import { captureFunction, isRefusal, withCaptureSession } from '../src/1-capture/capture.ts';
import { codeOf } from '../src/code-cache.ts';

let counter = 1;
const made = Array.from({ length: 60 }, (_, i) => (x: number) => x + i + counter);
counter++;

/** Milliseconds. */
function time(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

/** Functions of 100 lines, each in a script of its own, so that parsing and analysis count. */
const long = Array.from({ length: 30 }, (_, i) => {
  const lines = Array.from({ length: 24 }, (_, j) =>
    [
      `  const { a${j}, b${j} = ${j} } = items[${j % 3}] ?? {};`,
      `  for (const item of items) { if (item.size > ${j}) total += scale(item.size * a${j}); }`,
      `  try { total = total > limit ? total - b${j} : add(total, ${i + j}); }`,
      '  catch (error) { failures.push(error.message); }',
    ].join('\n'),
  );
  const text = `let limit = 10; const failures = [], scale = (x) => x * 2, add = (x, y) => x + y;
  return (items) => {\n  let total = 0;\n${lines.join('\n')}\n  limit++;\n  return total;\n}`;
  return new Function(text)() as (items: object[]) => number;
});

const captureAll = (functions: readonly ((x: number) => number)[]) => {
  for (const fn of functions) captureFunction(fn);
};

const first = time(() => captureAll(made.slice(0, 1)));
const nested = time(() => withCaptureSession(() => captureAll(made.slice(1, 30)))) / 29;
const single = time(() => captureAll(made.slice(31))) / 29;
const captured = captureFunction(made[0]!);
if (isRefusal(captured)) throw new Error(captured.detail);
const read = captured.scope.reader('counter');
const reads = time(() => {
  for (let i = 0; i < 200_000; i++) read();
});
const code = withCaptureSession(() => long.map((fn) => time(() => void codeOf(fn))));
const warm = code.slice(10).sort((a, b) => a - b);
console.log(
  `capture + lower of ${String(long[0]).split('\n').length} lines: first ${code[0]!.toFixed(1)} ms, ` +
    `after ten others ${warm[0]!.toFixed(2)} ms (median ${warm[warm.length >> 1]!.toFixed(2)})`,
);
console.log(
  `first capture ${first.toFixed(1)} ms, in a session ${nested.toFixed(2)} ms (${(nested / single).toFixed(2)}× ` +
    `one alone, ${single.toFixed(2)} ms), a read ${(reads * 5).toFixed(0)} ns`,
);
