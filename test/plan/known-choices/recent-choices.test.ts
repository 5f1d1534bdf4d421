/** Later translations of a function within a budget, by the choices of earlier ones. */

import { describe, expect, it } from 'vitest';
import { Captured } from '../../../src/dispatch/captured-function.ts';
import { explainBudget } from '../../../src/explain/memory-budget.ts';
import type { Dynamic } from '../../../src/guards/number-history.ts';
import { type Tensor, tidy } from '../../../src/index.ts';
import { passObservers } from '../../../src/programs/pass-record.ts';
import { type Job, jobs } from './jobs.ts';
import { planText } from './plan-text.ts';

/** Facts that a call of the step reads: one that changes only guards, and one that its program contains. */
interface Facts {
  readonly guarded: number;
  readonly scale: number;
}

const first: Facts = { guarded: 1, scale: 2 };

interface Outcome {
  readonly known: number;
  readonly plans: readonly string[];
  /** Runs of passes, by call. */
  readonly passes: readonly number[];
}

type Call = (facts: Facts) => number;

/** A job whose step reads facts; `capture` returns what is called. */
function callsOf(job: Job, capture: (step: Job['step']) => Job['step']): Call {
  let now = first;
  const called = capture((x) => {
    const { guarded, scale } = now;
    if (guarded < -1) throw new Error('no call has such a number');
    return x.mul(scale).tanh().sum().add(job.step(x).detach());
  });
  return (facts) => {
    now = facts;
    return tidy(() => called(job.inputs[0]).itemSync());
  };
}

/** Calls a step with one set of facts after another, each of which needs a translation. */
function outcomeOf(budget: number, calls: readonly Facts[], dynamic: Dynamic = false): Outcome {
  const [job, eager] = [jobs.layers!(), jobs.layers!()];
  let captured!: Captured;
  const call = callsOf(job, (step) => {
    captured = new Captured(step, { memory: { budget }, dynamic });
    return (x) => captured.call(undefined, [x]) as Tensor;
  });
  const expected = callsOf(eager, (step) => step);
  const passes = calls.map((facts) => {
    let runs = 0;
    const unsubscribe = passObservers.subscribe(() => runs++);
    const result = call(facts);
    unsubscribe();
    expect(result).toBe(expected(facts));
    return runs;
  });
  const plans = captured.parts.flatMap(({ stages }) =>
    stages ? [[planText(stages.planned), ...explainBudget(stages.recompute)].join('\n')] : [],
  );
  const { knownPlans: known = 0, translations } = captured.stats();
  expect(translations).toBe(calls.length);
  job.dispose();
  eager.dispose();
  return { known, plans, passes };
}

const other: Facts = { ...first, guarded: 2 };
const scaled: Facts = { ...other, scale: 3 };

describe('plan/recent choices', () => {
  for (const budget of [0, 24_000]) {
    it(`a budget of ${budget}: a translation with other guards has the plan of a search, without one`, () => {
      const { known, plans, passes } = outcomeOf(budget, [first, other]);
      const searched = outcomeOf(budget, [other]);
      expect(known).toBe(1);
      expect(searched.known).toBe(0);
      expect(plans).toEqual([searched.plans[0], searched.plans[0]]);
      expect(passes[0]).toBe(searched.passes[0]);
      expect(passes[1]).toBeLessThanOrEqual(passes[0]!);
    });
  }

  it('one plan is made where a search makes many', () => {
    const { passes } = outcomeOf(0, [first, other]);
    const { passes: unlimited } = outcomeOf(1e9, [first]);
    expect(passes[0]).toBeGreaterThan(3 * unlimited[0]!);
    expect(passes[1]).toBe(unlimited[0]);
  });

  it.each([
    [2, 3],
    [0, -0],
  ])('a program with another constant is searched: %d, %d', (one, another) => {
    const [before, after] = [one, another].map((scale) => ({ ...other, scale }));
    const { known, plans } = outcomeOf(0, [before!, after!]);
    expect(known).toBe(0);
    expect(plans[1]).toBe(outcomeOf(0, [after!]).plans[0]);
  });

  it('a program whose number has become symbolic is searched once', () => {
    const symbolic = { ...scaled, guarded: 1 };
    const { known, plans } = outcomeOf(0, [first, symbolic, { guarded: -0.5, scale: 4 }], 'auto');
    expect(known).toBe(1);
    expect(plans[2]).toBe(plans[1]);
  });
});
