/** One launch for several updates keeps their gradients live: that binds no order that would need less. */

import { expect, it } from 'vitest';
import { workload as resnet } from '../../examples/workloads/resnet.ts';
import type { SubgraphStages } from '../../src/programs/stages.ts';
import { workloadPlans } from './budgets/workload-plans.ts';

const peakOf = ({ planned }: SubgraphStages) => planned.forward.predicted.peakBytes;
const launches = ({ planned }: SubgraphStages) => planned.forward.steps.length;

it('merged updates cost no bytes where bytes are preferred, else less than a percent', () => {
  const plan = workloadPlans(resnet);
  const least = plan({ prefer: 'bytes' });
  expect(peakOf(least)).toBeLessThanOrEqual(peakOf(plan({ prefer: 'bytes' }, ['fuseUpdates'])));
  const [merged, apart] = [plan({}), plan({}, ['fuseUpdates'])];
  expect(peakOf(merged)).toBeLessThanOrEqual(peakOf(apart) * 1.01);
  expect(launches(merged)).toBeLessThan(launches(apart));
});
