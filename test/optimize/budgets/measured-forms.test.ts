/**
 * Bytes of candidates are measured of the form that needs fewer: the fused form of steps whose fused ops read operands
 * later, such as those of recurrent modules, needs more than their plans.
 */

import { expect, it } from 'vitest';
import { workload as lstm } from '../../../examples/workloads/lstm.ts';
import { passObservers } from '../../../src/programs/pass-record.ts';
import { workloadPlans } from './workload-plans.ts';

const plan = workloadPlans(lstm);
const most = plan({ slices: false }).planned.forward.predicted.peakBytes;

it('an LSTM recomputes a few elementwise ops for a fifth of its bytes', () => {
  const budget = Math.floor(most * 0.81);
  const { recompute } = plan({ slices: false, budget });
  expect(recompute!.bytes).toBeLessThanOrEqual(budget);
  expect(recompute!.ops).toBeGreaterThan(0);
  expect(recompute!.share).toBeLessThan(0.03);
}, 300_000);

it('in slices it holds two thirds with no more than these', () => {
  const budget = Math.floor(most * 0.67);
  const { recompute } = plan({ budget });
  expect(recompute!.bytes).toBeLessThanOrEqual(budget);
  expect(recompute!.ops).toBeGreaterThan(0);
  expect(recompute!.share).toBeLessThan(0.03);
}, 300_000);

it('its smallest plan has little more than half of the bytes', () => {
  let plans = 0;
  const stop = passObservers.subscribe(({ pass }) => {
    if (pass === 'fuseRows') plans++;
  });
  const { recompute } = plan({ budget: 0 });
  stop();
  // Without slices the smallest plan is larger: none with less arithmetic is looked for.
  expect(plans).toBeLessThan(40);
  expect(recompute!.bytes).toBeLessThanOrEqual(most * 0.55);
}, 300_000);
