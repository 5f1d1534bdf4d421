/** The cost and savings of matching ops against earlier calls, compared with the same function without it. */

import * as tostatic from '../src/index.ts';
import { type Tensor, tensor, tidy, toStatic } from '../src/index.ts';

type Fn = (xs: readonly Tensor[]) => unknown;

/** Capture rejects direct eval, which could change any variable. */
const make = (): Fn =>
  new Function('T', 'return (xs) => { eval("0"); for (const x of xs) x.add(x).mul(x).neg(); }')(
    tostatic,
  ) as Fn;

const iterations = 300;

/** Nanoseconds of processor time per op. */
function perOp(run: Fn, xs: readonly Tensor[]): number {
  const start = process.cpuUsage();
  for (let i = 0; i < iterations; i++) tidy(() => void run(xs));
  const { user, system } = process.cpuUsage(start);
  return ((user + system) * 1000) / (iterations * xs.length * 3);
}

for (const [name, count] of [
  ['operands of 4 sizes', 4],
  ['operands of 16 sizes', 16],
] as const) {
  const xs = Array.from({ length: 16 }, (_, i) => tensor(new Float32Array((i % count) + 1)));
  const [alone, matched] = [make(), toStatic(make())];
  const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 30; round++) {
    best[0] = Math.min(best[0]!, perOp(alone, xs));
    best[1] = Math.min(best[1]!, perOp(matched, xs));
  }
  const ratio = best[1]! / best[0]!;
  console.log(
    `${name}: ${best[0]!.toFixed(0)} ns an op by itself, ${best[1]!.toFixed(0)} ns compared (×${ratio.toFixed(2)})`,
  );
}
