/** The arithmetic that a budget costs at least, by which candidates are passed over. */

import { expect, it } from 'vitest';
import type { Program } from '../../../runtime/program/program.ts';
import { fusedValues } from '../../../src/5-optimize/fuse/fused-form.ts';
import { Candidate, type Cost } from '../../../src/5-optimize/recompute/choice.ts';
import { ForwardFacts } from '../../../src/5-optimize/recompute/forward-facts.ts';
import { forwardOfStep } from '../../../src/5-optimize/recompute/forward-of-step.ts';
import { KeptChoices } from '../../../src/5-optimize/recompute/kept-choices.ts';
import { SimilarChoices } from '../../../src/5-optimize/recompute/similar-choices.ts';
import { WorkBound } from '../../../src/5-optimize/recompute/work-bound.ts';
import { roughBytes } from '../../../src/7-plan/plan.ts';
import { Compilation, type CompileOptions } from '../../../src/compile/compilation.ts';
import { SubgraphPlanner } from '../../../src/compile/subgraph-planner.ts';
import { crossEntropy, deviceGuard, gelu, maximum, nn, relu, zeros } from '../../../src/index.ts';
import { Choices } from '../../../src/programs/choices.ts';
import { finish } from '../../../src/programs/steps.ts';
import { randomInts } from '../../plan/random-program.ts';
import { type Forward, stepPlans } from './step-plans.ts';

const rates = Array.from({ length: 16 }, (_, i) => 2 ** (i - 14));

/** A whole step with some forward, as its plans within a budget. */
function stepOf(modules: readonly nn.Module[], forward: Forward, shape: number[]) {
  const lossOf: Forward = (x) => {
    const y = forward(x);
    return crossEntropy(y, zeros([y.shape[0]!], { dtype: 'int32' }));
  };
  const { plan, source } = stepPlans(modules, lossOf, shape);
  return { plan: (budget: number | null) => plan({ budget, slices: false }), source };
}

const linear = (from: number, to: number) => deviceGuard('meta', () => new nn.Linear(from, to));

const steps = [
  ...[4, 9].map((depth) => {
    const layers = Array.from({ length: depth }, () => linear(24, 24));
    const forward: Forward = (x) => layers.reduce((y, layer) => gelu(layer.forward(y)), x);
    return { name: `mlp of ${depth}`, ...stepOf(layers, forward, [256, 24]) };
  }),
  ...[5].map((depth) => {
    // Which of two values is larger, one byte per element, backward may find before the loss is known.
    const layers = Array.from({ length: 2 * depth }, () => linear(24, 24));
    const forward: Forward = (x) =>
      layers.reduce(
        (y, layer, i) => (i % 2 ? y : maximum(layer.forward(y), layers[i + 1]!.forward(y))),
        x,
      );
    return { name: `${depth} layers of maxima`, ...stepOf(layers, forward, [256, 24]) };
  }),
  ...[3, 6].map((depth) => {
    const [up, down] = [8, 8].map(() => Array.from({ length: depth }, () => linear(16, 16)));
    const forward: Forward = (x) =>
      up!.reduce((y, layer, i) => y.add(down![i]!.forward(relu(layer.forward(y)))), x);
    return {
      name: `${depth} residual blocks`,
      ...stepOf([...up!, ...down!], forward, [512, 16]),
    };
  }),
];

it.each(steps)('no plan of $name recomputes less than the bound', ({ plan }) => {
  const { planned, forward } = plan(null);
  const facts = new ForwardFacts(forward, forwardOfStep(forward));
  const most = planned.forward.predicted.peakBytes;
  const bound = new WorkBound(facts);
  let bounded = 0;
  for (const share of [0.9, 0.7, 0.5, 0.4, 0.3]) {
    const budget = Math.floor(most * share);
    const { recompute } = plan(budget);
    const least = bound.least(budget) / facts.forwardWork;
    if (recompute!.bytes > budget) continue;
    expect(least).toBeLessThanOrEqual(recompute!.share + 1e-9);
    if (least > 0.25 * recompute!.share) bounded++;
  }
  expect(bounded).toBeGreaterThan(0);
});

/** Every candidate that is measured, whatever the budget. */
function* candidatesOf(facts: ForwardFacts, costOf: Cost): Generator<Candidate> {
  const kept = new KeptChoices(facts, costOf);
  yield* kept.cheapest();
  yield* kept.inSegments();
}

it.each(steps)('no candidate of $name takes less than the bound of its own bytes', ({ plan }) => {
  const { forward } = plan(null);
  const facts = new ForwardFacts(forward, forwardOfStep(forward));
  const bound = new WorkBound(facts);
  for (const form of [(each: Program) => each, (each: Program) => fusedValues(each, new Set())]) {
    const costOf: Cost = (program) => roughBytes(form(program));
    const beside = costOf({ ...forward, ops: [] });
    let bounded = 0;
    for (const { bytes, work } of candidatesOf(facts, costOf)) {
      const least = bound.least(bytes - beside);
      expect(least).toBeLessThanOrEqual(work * (1 + 1e-9));
      if (least > 0.25 * work) bounded++;
    }
    expect(bounded).toBeGreaterThan(0);
  }
});

it('a bound that is enough ends the search for a higher one', () => {
  const { plan } = steps[1]!;
  const { planned, forward } = plan(null);
  const facts = new ForwardFacts(forward, forwardOfStep(forward));
  const budget = Math.floor(planned.forward.predicted.peakBytes * 0.3);
  const asked: number[] = [];
  function* counted() {
    for (const rate of rates) {
      asked.push(rate);
      yield rate;
    }
  }
  const bound = new WorkBound(facts, counted());
  const least = bound.least(budget);
  expect(asked).toEqual(rates);
  asked.length = 0;
  const first = new WorkBound(facts, counted()).least(budget, least / 4);
  expect(first).toBeGreaterThanOrEqual(least / 4);
  expect(first).toBeLessThanOrEqual(least);
  expect(asked.length).toBeLessThan(rates.length);
  // Cuts that were found are kept for other bytes.
  expect(bound.least(budget / 2)).toBeGreaterThan(least);
  expect(bound.least(budget)).toBe(least);
});

it('of choices that need about the same bytes, none that may fit is passed over, and few are measured', () => {
  const beside = 1e6;
  for (let seed = 1; seed < 40; seed++) {
    const below = randomInts(seed);
    let level = 4000 + below(4000);
    const bytes = Array.from({ length: 120 }, () => {
      level = Math.max(1000, level + below(120) - 60);
      // Some need a little less than those around them.
      return Math.floor(level * (below(10) === 0 ? 0.95 : 1));
    });
    const measured = new Set<number>();
    const choices = bytes.map((own, i) => {
      const costOf: Cost = () => {
        measured.add(i);
        return beside + own;
      };
      return new Candidate(
        { stays: [], brief: [] },
        i,
        () => ({
          program: { values: [], inputs: [], ops: [], outputs: [] },
          ops: 1,
          work: i,
          again: new Set(),
        }),
        costOf,
      );
    });
    for (const [ops, most] of [
      [2000, 18],
      [1000, 0],
    ] as const) {
      measured.clear();
      const far = beside + Math.min(...bytes) / 2;
      const similar = new SimilarChoices(choices, ops);
      const passed = choices.filter((each) => !similar.mayFit(each, far, beside));
      expect(measured.size).toBeLessThanOrEqual(most);
      expect(passed.length > 90).toBe(ops === 2000);
      for (const limit of [0.9, 1, 1.1].map((share) => beside + share * bytes[60]!)) {
        for (const [i, each] of choices.entries()) {
          if (beside + bytes[i]! <= limit) expect(similar.mayFit(each, limit, beside)).toBe(true);
        }
      }
    }
  }
});

it('a candidate that cannot be cheaper than a known plan is not planned', () => {
  const layers = Array.from({ length: 10 }, () => linear(32, 32));
  const { plan, source } = stepOf(
    layers,
    (x) => layers.reduce((y, layer) => gelu(layer.forward(y)), x),
    [1024, 32],
  );
  const budget = Math.floor(plan(null).planned.forward.predicted.peakBytes * 0.4);
  const { share } = plan(budget).recompute!;
  expect(share).toBeGreaterThan(0.05);
  const { program, options } = source;
  const memory = { ...options.memory, budget, slices: false };
  const planned = (below: number) => {
    const incumbent = { kind: 'fitting', share: below } as const;
    const own: CompileOptions = { ...options, tier: 'final', memory, incumbent };
    const planner = new SubgraphPlanner(new Compilation(own, Choices.none()));
    return finish(planner.inferenceWithin(program, {}));
  };
  expect(planned(share * 0.2)).toBeNull();
  expect(planned(share * 1.5)?.recompute?.share).toBeCloseTo(share, 6);
});
