/**
 * The time of a training step's first calls, eager and captured: `npx tsx bench/compile.ts mlp|gpt|lstm`. Each job
 * needs its own process, because compiled kernels are cached.
 */

import { spans } from '../runtime/profiler/spans.ts';
import { seed, tidy, toStatic } from '../src/index.ts';
import { type Job, jobs } from './training-jobs/jobs.ts';

const name = process.argv[2] ?? 'mlp';
const steps = 50;

/** Milliseconds of each call. */
function timesOf({ step, inputs }: Job): number[] {
  return Array.from({ length: steps }, () => {
    const start = performance.now();
    tidy(() => void step(...inputs).itemSync());
    return performance.now() - start;
  });
}

function print(title: string, times: readonly number[]): void {
  const all = times.reduce((sum, each) => sum + each, 0);
  const [first, second] = times.map((each) => each.toFixed(0));
  const later = Math.min(...times.slice(2)).toFixed(2);
  console.log(`${title}: ${first} + ${second} ms, then ${later}; ${steps} in ${all.toFixed(0)} ms`);
}

/** The time of each phase of the first call, without phases nested in others. */
const phases = new Map<string, number>();
const open: { readonly name: string; readonly start: number }[] = [];
spans.sink = {
  begin({ kind, name }) {
    open.push({ name: kind === 'compile' ? name : '', start: performance.now() });
  },
  end() {
    const { name, start } = open.pop()!;
    const isInner = open.some((each) => each.name === name);
    if (name && !isInner) phases.set(name, (phases.get(name) ?? 0) + performance.now() - start);
  },
  open: () => () => {},
  timed: () => ({ end() {} }),
};
const make = () => {
  seed(1);
  return jobs[name]!();
};
const captured = { ...make() };
const step = toStatic(captured.step);
const begin = performance.now();
tidy(() => void step(...captured.inputs).itemSync());
const first = performance.now() - begin;
spans.sink = null;
const times = [first, ...timesOf({ ...captured, step }).slice(1)];
print('captured', times);
const told = [...phases].map(([phase, ms]) => `${phase} ${ms.toFixed(0)}`);
console.log(`the first call, in ms: ${told.join(', ')}`);
print('eager, with these kernels there', timesOf(make()));
