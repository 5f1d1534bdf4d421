/** What capturing costs: a first capture, one in a shared session, one alone, a read of a live variable. */

import { captureFunction, isRefusal, withCaptureSession } from '../src/1-capture/capture.ts';

let counter = 1;
const made = Array.from({ length: 60 }, (_, i) => (x: number) => x + i + counter);
counter++;

/** Milliseconds. */
function time(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

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
console.log(
  `first capture ${first.toFixed(1)} ms, in a session ${nested.toFixed(2)} ms (${(nested / single).toFixed(2)}× ` +
    `one alone, ${single.toFixed(2)} ms), a read ${(reads * 5).toFixed(0)} ns`,
);
