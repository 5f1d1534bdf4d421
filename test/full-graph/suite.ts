/** Runs a function eagerly and as one graph, from copies of the same data, and compares everything. */

import { expect } from 'vitest';
import { predictedPeak } from '../../src/explain/predicted-peak.ts';
import {
  memory,
  noGrad,
  type StaticFunction,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { expectSame } from '../expect-same.ts';
import { close, type Fn, outcome, release, tensorsIn } from './outcome.ts';
import { type Never, PathsTaken } from './paths-taken.ts';

export interface Checked {
  readonly graph: StaticFunction<Fn>;
}

interface Expected {
  /** Equal to the last bit. */
  readonly exact?: boolean;
  readonly translations?: number;
  /** Paths of branches and loops that no data takes; all others are taken by what `inputs` makes. */
  readonly never?: readonly Never[];
  /** Run with `capture: 'auto'` and with graph breaks, too: so many subgraphs the first takes beside the second. */
  readonly auto?: 'fewer' | 'as many';
  /** Places where the program gives up runs, which are then eager. */
  readonly fallbacks?: number;
}

const leaf = (...values: number[]) => tensor(values).requiresGrad_();

/** Arguments on which decisions differ: a positive sum, a negative one, and a large one. */
export const signs: readonly (() => Tensor[])[] = [
  () => [leaf(1, 2)],
  () => [leaf(-3, 1)],
  () => [leaf(60, 20)],
];

/** The decision on a value that these tests make. */
export const positive = (x: Tensor): boolean => x.sum().itemSync() > 0;

/** `inputs` makes the arguments anew for every run; tensors that need gradients are leaves. */
export function sameAsEager(
  fn: Fn,
  inputs: readonly (() => unknown[])[],
  { exact = true, translations = 1, never = [], auto, fallbacks = 0 }: Expected = {},
): Checked {
  const graph = toStatic(fn, { fullGraph: true });
  const before = memory.stats('cpu').allocated;
  const taken = new PathsTaken();
  let thrown = 0;
  // The first call traces; the second takes the entry.
  for (let round = 0; round < 2; round++) {
    for (const make of inputs) {
      const [eager, full] = [make(), make()];
      // A run may put other tensors in their place.
      const given = [...tensorsIn([eager, full])];
      const expected = outcome(fn, eager);
      const found = outcome(graph, full);
      expectPredicted(graph);
      taken.note(graph.programs());
      if (expected.thrown) thrown++;
      expect(found.thrown).toEqual(expected.thrown);
      if (exact) expectSame(found, expected);
      else close(found, expected);
      release([eager, full, given]);
    }
  }
  expect(graph.stats()).toMatchObject({ translations, graphs: translations, breaks: [] });
  if (thrown === 0) expect(graph.stats().fallbacks).toHaveLength(fallbacks);
  if (never.length > 0) tryOthers(graph, inputs, taken);
  taken.expectAll(never);
  if (auto) {
    const chosen = graphsOf(fn, inputs, exact, { capture: 'auto' });
    const broken = graphsOf(fn, inputs, exact, { fullGraph: false });
    expect(Math.sign(chosen - broken)).toBe(auto === 'fewer' ? -1 : 0);
  }
  expect(memory.stats('cpu').allocated).toBe(before);
  return { graph };
}

/** How many subgraphs it takes where the graph may break: what is left is that of eager execution. */
function graphsOf(
  fn: Fn,
  inputs: readonly (() => unknown[])[],
  exact: boolean,
  options: ToStaticOptions,
): number {
  const captured = toStatic(fn, options);
  for (const make of inputs) {
    const [eager, own] = [make(), make()];
    const given = [...tensorsIn([eager, own])];
    const expected = outcome(fn, eager);
    const found = outcome(captured, own);
    if (exact) expectSame(found, expected);
    else close(found, expected);
    release([eager, own, given]);
  }
  return captured.stats().graphs;
}

/** Data like the given, smaller and larger: where a path is stated never to be taken, that doesn't, either. */
function tryOthers(
  graph: StaticFunction<Fn>,
  inputs: readonly (() => unknown[])[],
  taken: PathsTaken,
): void {
  for (const make of inputs) {
    for (const factor of [0.5, 2, 8]) {
      const args = make();
      const given = [...tensorsIn(args)];
      for (const each of given) {
        if (each.dtype.startsWith('float')) noGrad(() => each.mul_(factor));
      }
      if (!outcome(graph, args).thrown) taken.note(graph.programs());
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
