/** A large program that surely exceeds its budget isn't planned without it, unless that number is asked for. */

import { expect, it } from 'vitest';
import { deviceGuard, gelu, nn } from '../../../src/index.ts';
import { passObservers } from '../../../src/programs/pass-record.ts';
import { stepPlans } from './step-plans.ts';

it.each([
  ['small', 4, 2],
  ['large', 400, 1],
] as const)('a %s program', (_, depth, planned) => {
  const layers = deviceGuard('meta', () =>
    Array.from({ length: depth }, () => new nn.Linear(8, 8)),
  );
  const { plan } = stepPlans(
    layers,
    (x) => layers.reduce((y, layer) => gelu(layer.forward(y)), x).sum(),
    [64, 8],
    { savedMasks: false, compactViews: false, slices: false, budget: 2 ** 40 },
  );
  const whole = plan({ budget: null, prefer: 'bytes' });
  const { peakBytes } = whole.planned.forward.predicted;
  expect(whole.traced.ops.length > 4000).toBe(planned === 1);
  let plans = 0;
  const stop = passObservers.subscribe(({ pass }) => {
    if (pass === 'fusePointwise') plans++;
  });
  const { recompute, planned: within } = plan({ budget: Math.floor(peakBytes * 0.8) });
  expect(within.forward.predicted.peakBytes).toBeLessThanOrEqual(recompute!.budget);
  expect(recompute!.ops).toBeGreaterThan(0);
  expect(plans).toBe(planned);
  expect(recompute!.bytesBefore()).toBe(peakBytes);
  expect(plans).toBe(2);
  expect(recompute!.bytesBefore()).toBe(peakBytes);
  expect(plans).toBe(2);
  stop();
});
