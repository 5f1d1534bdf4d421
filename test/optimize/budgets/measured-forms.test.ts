/**
 * Bytes of candidates are measured of the form that needs fewer: the fused form of steps whose fused ops read operands
 * later, such as those of recurrent modules, needs more than their plans.
 */

import { expect, it } from 'vitest';
import { workload as lstm } from '../../../examples/workloads/lstm.ts';
import { workloadPlans } from './workload-plans.ts';

it('an LSTM recomputes a few elementwise ops for a fifth of its bytes, in slices for a third', () => {
  const plan = workloadPlans(lstm);
  const most = plan({ slices: false }).planned.forward.predicted.peakBytes;
  for (const [slices, share] of [
    [false, 0.81],
    [true, 0.67],
  ] as const) {
    const budget = Math.floor(most * share);
    const { recompute } = plan({ slices, budget });
    expect(recompute!.bytes).toBeLessThanOrEqual(budget);
    expect(recompute!.ops).toBeGreaterThan(0);
    expect(recompute!.share).toBeLessThan(0.03);
  }
}, 300_000);
