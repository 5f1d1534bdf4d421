/** Runs a function eagerly and as one graph, from copies of the same data, and compares everything. */

import { expect } from 'vitest';
import { randomState } from '../../runtime/random/seed.ts';
import { predictedPeak } from '../../src/explain/predicted-peak.ts';
import {
  memory,
  noGrad,
  type StaticFunction,
  seed,
  Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { type Never, WaysTaken } from './ways.ts';

// biome-ignore lint/suspicious/noExplicitAny: any function under test.
type Fn = (...args: any[]) => unknown;

export interface Checked {
  readonly graph: StaticFunction<Fn>;
}

interface Expected {
  /** Equal to the last bit. */
  readonly exact?: boolean;
  readonly translations?: number;
  /** Ways of branches and loops that no data takes; all others are taken by what `inputs` makes. */
  readonly never?: readonly Never[];
}

/** `inputs` makes the arguments anew for every run; tensors that need gradients are leaves. */
export function sameAsEager(
  fn: Fn,
  inputs: readonly (() => unknown[])[],
  { exact = true, translations = 1, never = [] }: Expected = {},
): Checked {
  const graph = toStatic(fn, { fullGraph: true });
  const before = memory.stats('cpu').allocated;
  const ways = new WaysTaken();
  // The first call traces; the second takes the entry.
  for (let round = 0; round < 2; round++) {
    for (const make of inputs) {
      const [eager, full] = [make(), make()];
      // A run may put other tensors in their place.
      const given = [...tensorsIn([eager, full])];
      const expected = outcome(fn, eager);
      const found = outcome(graph, full);
      expectPredicted(graph);
      ways.note(graph.programs());
      expect(found.thrown).toEqual(expected.thrown);
      if (exact) expect(found).toEqual(expected);
      else close(found, expected);
      release([eager, full, given]);
    }
  }
  expect(graph.stats()).toMatchObject({ translations, graphs: translations, breaks: [] });
  if (never.length > 0) tryOthers(graph, inputs, ways);
  ways.expectAll(never);
  expect(memory.stats('cpu').allocated).toBe(before);
  return { graph };
}

/** Data like the given, smaller and larger: where a way is stated to be taken never, that doesn't, either. */
function tryOthers(
  graph: StaticFunction<Fn>,
  inputs: readonly (() => unknown[])[],
  ways: WaysTaken,
): void {
  for (const make of inputs) {
    for (const factor of [0.5, 2, 8]) {
      const args = make();
      const given = [...tensorsIn(args)];
      for (const each of given) {
        if (each.dtype.startsWith('float')) noGrad(() => each.mul_(factor));
      }
      if (!outcome(graph, args).thrown) ways.note(graph.programs());
      release([args, given]);
    }
  }
}

/** What the last run took at its peak is what its plans predict of its decisions. */
export function expectPredicted(graph: StaticFunction<Fn>): void {
  for (const { record, stages } of graph.programs()) {
    if (!stages || record.runs === 0 || !record.decisions.complete) continue;
    expect(record.peakBytes).toBe(predictedPeak(record));
    const { peakBytes, lowerBoundBytes } = stages.planned.forward.predicted;
    expect(lowerBoundBytes).toBeLessThanOrEqual(peakBytes);
  }
}

interface Outcome {
  readonly thrown?: readonly [string, string];
  readonly value?: unknown;
  readonly gradients: unknown[];
  readonly arguments: unknown;
  /** Random numbers, by the place where the stream stands afterwards. */
  readonly numbersDrawn?: number;
}

function outcome(fn: Fn, args: unknown[]): Outcome {
  seed(11);
  return tidy(() => run(fn, args));
}

function run(fn: Fn, args: unknown[]): Outcome {
  let value: unknown;
  try {
    value = fn(...args);
  } catch (error) {
    const { name, message } = error as Error;
    return { thrown: [name, message], gradients: [], arguments: plain(args) };
  }
  const roots = [...tensorsIn(value)].filter((each) => each.requiresGrad);
  for (const root of roots) {
    const sum = root.sum();
    sum.backward(undefined, { retainGraph: true });
    sum.dispose();
  }
  const result = {
    value: plain(value),
    gradients: [...tensorsIn(args)].map((each) => each.grad && plain(each.grad)),
    arguments: plain(args),
    numbersDrawn: randomState().offset,
  };
  return result;
}

function release(all: unknown): void {
  for (const each of tensorsIn(all)) {
    each.grad?.dispose();
    each.dispose();
  }
}

function* tensorsIn(value: unknown): Generator<Tensor> {
  if (value instanceof Tensor) yield value;
  else if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
    for (const each of value) yield* tensorsIn(each);
  } else if (value && typeof value === 'object') yield* tensorsIn(Object.values(value));
}

function plain(value: unknown): unknown {
  if (value instanceof Tensor) {
    if (value.disposed) return 'disposed';
    return { dtype: value.dtype, shape: [...value.shape], data: [...value.dataSync()] };
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map || value instanceof Set)
    return [value.constructor.name, plain([...value])];
  // In the order of the keys.
  if (value && typeof value === 'object') return plain(Object.entries(value));
  return value;
}

function close(a: unknown, b: unknown): void {
  if (typeof a === 'number' && typeof b === 'number') {
    expect(Math.abs(a - b)).toBeLessThanOrEqual(1e-6 + 1e-5 * Math.abs(b));
    return;
  }
  if (a && b && typeof a === 'object' && typeof b === 'object') {
    expect(Object.keys(a)).toEqual(Object.keys(b));
    for (const key of Object.keys(a)) close(Reflect.get(a, key), Reflect.get(b, key));
    return;
  }
  expect(a).toEqual(b);
}
