import { expect, it } from 'vitest';
import { deviceGuard, gelu, nn, relu } from '../../../src/index.ts';
import type { MemoryOptions } from '../../../src/programs/memory-options.ts';
import type { Recompute } from '../../../src/programs/stages.ts';
import { type Forward, stepPlans } from './step-plans.ts';

/** What a share of the plan without a budget costs, for a whole step on the device that only counts. */
function budgets(
  modules: readonly nn.Module[],
  forward: Forward,
  shape: number[],
  memory: Partial<MemoryOptions> = {},
): (share: number) => Recompute {
  const { plan } = stepPlans(modules, (x) => forward(x).pow(2).mean(), shape, memory);
  const most = plan({ slices: false }).planned.forward.predicted.peakBytes;
  return (share) => plan({ budget: Math.floor(most * share) }).recompute!;
}

function mlp(depth: number, memory: Partial<MemoryOptions>) {
  return deviceGuard('meta', () => {
    const layers = Array.from({ length: depth }, () => new nn.Linear(32, 32));
    const forward: Forward = (x) => layers.reduce((y, layer) => gelu(layer.forward(y)), x);
    return budgets(layers, forward, [512, 32], memory);
  });
}

function convolutions(norm: (channels: number) => nn.Module & { forward: Forward }) {
  return deviceGuard('meta', () => {
    const layers = Array.from({ length: 8 }, () => ({
      conv: new nn.Conv2d(4, 4, 3, { padding: 1 }),
      norm: norm(4),
    }));
    const forward: Forward = (x) =>
      layers.reduce((y, { conv, norm }) => relu(norm.forward(conv.forward(y))), x);
    const modules = layers.flatMap(({ conv, norm }) => [conv, norm]);
    return budgets(modules, forward, [8, 4, 16, 16]);
  });
}

it('a biased linear layer costs its product, not its last addition: activations run again, layers stay', () => {
  const { bytes, budget, ops, share } = mlp(12, { slices: false })(0.68);
  expect(bytes).toBeLessThanOrEqual(budget);
  expect(ops).toBeGreaterThan(3);
  expect(share).toBeLessThan(0.05);
});

it('a smaller budget takes more arithmetic, and is held down to a sixth of the plan', () => {
  const within = mlp(12, { slices: false });
  let [before, held] = [0, 0];
  for (const wanted of [0.9, 0.7, 0.5, 0.35, 0.25, 0.17]) {
    const { bytes, budget, share } = within(wanted);
    expect(bytes).toBeLessThanOrEqual(budget);
    expect(share).toBeGreaterThanOrEqual(before);
    before = share;
    held++;
  }
  expect(held).toBe(6);
});

it('running statistics keep no layer from running again', () => {
  const withStatistics = convolutions((channels) => new nn.BatchNorm2d(channels))(0);
  const without = convolutions(
    (channels) => new nn.BatchNorm2d(channels, { trackRunningStats: false }),
  )(0);
  expect(withStatistics.bytes).toBeLessThanOrEqual(without.bytes * 1.05);
  expect(withStatistics.bytes).toBeLessThan(withStatistics.bytesBefore() * 0.4);
});

it('slices and recompute are weighed together: with slices no budget needs more than without', () => {
  const sliced = mlp(10, {});
  const whole = mlp(10, { slices: false });
  const least = sliced(0);
  expect(least.bytes).toBeLessThanOrEqual(whole(0).bytes * 1.05);
  // Slices hold what takes products without them.
  const [within, other] = [sliced(0.5), whole(0.5)];
  expect(within.share).toBeLessThan(0.01);
  expect(other.share).toBeGreaterThan(0.05);
  for (const { bytes, budget } of [within, other]) expect(bytes).toBeLessThanOrEqual(budget);
});

it('a net of convolutions and norms recomputes norms first, then as few convolutions as hold the budget', () => {
  const within = convolutions((channels) => new nn.BatchNorm2d(channels));
  const shares = [0.7, 0.5, 0.4].map((share) => {
    const { bytes, budget, share: again } = within(share);
    expect(bytes).toBeLessThanOrEqual(budget);
    return again;
  });
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares[0]).toBeLessThan(0.1);
  expect(shares[1]).toBeLessThan(0.35);
  expect(shares[2]).toBeLessThan(0.65);
});

it('the gradient of a large convolution is not what every plan needs: it is applied by output channels', () => {
  const bytes = 1024 * 8 * 9 * 4;
  const floor = (memory: Partial<MemoryOptions>) =>
    deviceGuard('meta', () => {
      const layers = Array.from({ length: 4 }, () => new nn.Conv2d(8, 8, 3, { padding: 1 }));
      const last = new nn.Conv2d(8, 1024, 3, { stride: 8 });
      const forward: Forward = (x) =>
        last.forward(layers.reduce((y, layer) => relu(layer.forward(y)), x));
      return budgets([...layers, last], forward, [4, 8, 16, 16], memory)(0);
    });
  expect(floor({ slices: false }).bytes).toBeGreaterThan(bytes);
  expect(floor({}).bytes).toBeLessThan(0.8 * bytes);
});
