/** Microseconds of the guards of a call, and the first call of a long function. Minima of short runs. */

import { staticRecord } from '../src/dispatch/static-functions.ts';
import { GuardSet } from '../src/guards/guard.ts';
import { nn, randn, type StaticFunction, type Tensor, toStatic } from '../src/index.ts';
import { activate } from '../src/vm/frames/activation.ts';

/** Least microseconds of one call, over `rounds` of `calls`. */
function least(body: () => void, calls: number, rounds = 30): number {
  for (let i = 0; i < calls; i++) body();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (let i = 0; i < calls; i++) body();
    best = Math.min(best, performance.now() - start);
  }
  return (best / calls) * 1000;
}

function guardHit(): { guards: number; microseconds: number } {
  const f = toStatic((a: Tensor[], o: Record<string, number>) => {
    let sum = a[0]!;
    for (let i = 1; i < 10; i++) sum = sum.add(a[i]!);
    const { p, q, r, s, t, u, v } = o as Record<'p' | 'q' | 'r' | 's' | 't' | 'u' | 'v', number>;
    return sum.mul(p + q + r + s + t + u + v);
  });
  const tensors = Array.from({ length: 10 }, () => randn([8, 8]));
  const args = [tensors, { p: 2, q: 3, r: 4, s: 5, t: 6, u: 7, v: 8 }] as const;
  f(...args).dispose();
  return passOf(f, args);
}

/** 50 linear layers, with a guard on each parameter. */
function parameterHit(): { guards: number; microseconds: number } {
  const model = new nn.Sequential(...Array.from({ length: 50 }, () => new nn.Linear(4, 4)));
  const f = toStatic((x: Tensor) => model.forward(x));
  const x = randn([2, 4]);
  f(x).dispose();
  return passOf(f, [x]);
}

/** One check of all guards of the function's first trace, for a call that passes them. */
function passOf<F extends (...args: never[]) => unknown>(
  f: StaticFunction<F>,
  args: readonly unknown[],
): { guards: number; microseconds: number } {
  const { guards } = f.programs()[0]!.trace;
  const { closure } = staticRecord(f)!.captured!.code!;
  const frames = [activate(closure, undefined, args)];
  const set = new GuardSet(guards);
  const microseconds = least(() => set.holds(frames), 2000);
  return { guards: guards.length, microseconds };
}

function firstCall(): number {
  const make = () =>
    toStatic((x: Tensor) => {
      for (let i = 0; i < 100; i++) x = x.mul(1.01).add(0.5);
      return x;
    });
  const x = randn([16, 16]);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const f = make();
    const start = performance.now();
    f(x).dispose();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

const hit = guardHit();
console.log(
  `guard hit, 10 tensors and ${hit.guards} guards: ${hit.microseconds.toFixed(2)} µs (≤ 1)`,
);
const parameters = parameterHit();
console.log(
  `guard hit, 100 parameters and ${parameters.guards} guards: ${parameters.microseconds.toFixed(2)} µs (≤ 5)`,
);
console.log(`first call of 200 ops: ${firstCall().toFixed(0)} ms (≤ 150)`);
