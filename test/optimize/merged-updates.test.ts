/**
 * One launch for several updates keeps their gradients live: that binds no order that would need less, and costs at
 * most a thousandth of the peak where bytes are preferred, else a percent.
 */

import { expect, it } from 'vitest';
import { workload as resnet } from '../../examples/workloads/resnet.ts';
import type { SubgraphStages } from '../../src/programs/stages.ts';
import { workloadPlans } from './budgets/workload-plans.ts';

const peakOf = ({ planned }: SubgraphStages) => planned.forward.predicted.peakBytes;
const launches = ({ planned }: SubgraphStages) => planned.forward.steps.length;

it.each([
  ['bytes', 1.001],
  ['time', 1.01],
] as const)('preferring %s, merged updates cost at most a factor of %f', (prefer, most) => {
  const plan = workloadPlans(resnet);
  const [merged, apart] = [plan({ prefer }), plan({ prefer }, ['fuseUpdates'])];
  expect(peakOf(merged)).toBeLessThanOrEqual(peakOf(apart) * most);
  // There are 60 parameters.
  expect(launches(merged)).toBeLessThan(launches(apart) - 50);
});
