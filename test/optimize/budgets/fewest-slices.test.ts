/** Within a budget a step has as few slices as hold it, unless bytes are preferred: slices cost time. */

import { expect, it } from 'vitest';
import { workload as transformer } from '../../../examples/workloads/char-transformer.ts';
import { workload as convNet } from '../../../examples/workloads/conv-net.ts';
import { workloadPlans } from './workload-plans.ts';

it.each([
  ['char-transformer', transformer, [0.31, 0.4, 0.5, 0.6, 0.7, 1]],
  ['conv-net', convNet, [0.2, 0.3, 0.4, 0.6, 0.8, 1]],
] as const)('%s', (_, workload, shares) => {
  const plan = workloadPlans(workload);
  const whole = plan({ slices: false });
  const most = whole.planned.forward.predicted.peakBytes;
  const all = plan({ prefer: 'bytes' });
  const kernels = shares.map((share) => {
    const budget = Math.floor(most * share);
    const { planned, recompute, passes } = plan({ budget });
    expect(recompute!.bytes).toBeLessThanOrEqual(budget);
    expect(recompute!.ops).toBe(0);
    expect(plan({ budget, prefer: 'bytes' }).recompute!.bytes).toBeLessThanOrEqual(
      recompute!.bytes,
    );
    return { count: planned.forward.steps.length, applied: passes.slices?.applied ?? 0 };
  });
  const counts = kernels.map(({ count }) => count);
  expect(counts).toEqual(counts.toSorted((a, b) => b - a));
  expect(new Set(counts).size).toBeGreaterThan(2);
  expect(counts[0]).toBeLessThanOrEqual(all.planned.forward.steps.length);
  expect(kernels[0]!.applied).toBe(1);
  expect(kernels.at(-1)!.applied).toBe(0);
});
