/**
 * A plan that keeps its order is simulated when its bytes are read, and the bound of any order is found when it is read:
 * first calls, references of checks and searches for plans read none.
 */

import { afterEach, expect, it, vi } from 'vitest';
import { SimulatedRun } from '../../runtime/run-program/simulate/simulated-run.ts';
import { deviceGuard, nn, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { FlowNetwork } from '../../src/programs/max-flow.ts';
import { stepPlans } from '../optimize/budgets/step-plans.ts';

const inOrder = { fullGraph: true, check: 1, memory: { order: false } } as const;

const bodies: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  straight: (x) => x.mul(2).exp().sum(),
  'a branch': (x) => (x.sum().itemSync() > 0 ? x.mul(2) : x.exp()).sum(),
  'a loop': (x) => {
    let y = x;
    while (y.sum().itemSync() < 100) y = y.mul(2);
    return y.sum();
  },
};

const written: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'a branch behind a write': (x) => {
    x.mul_(2);
    return (x.sum().itemSync() > 0 ? x.mul(2) : x.exp()).sum();
  },
};

afterEach(() => {
  vi.restoreAllMocks();
});

it.each(Object.entries({ ...bodies, ...written }))('%s', (_, body) => {
  const forward = vi.spyOn(SimulatedRun.prototype, 'forward');
  const f = toStatic(body, inOrder);
  f(tensor([1, 2, 3])).dispose();
  expect(forward).not.toHaveBeenCalled();
  const { predicted } = f.programs()[0]!.stages!.planned.forward;
  expect(predicted.peakBytes).toBeGreaterThan(0);
  expect(predicted.lowerBoundBytes).toBeGreaterThan(0);
  expect(predicted.lowerBoundBytes).toBeLessThanOrEqual(predicted.peakBytes);
  const runs = forward.mock.calls.length;
  expect(runs).toBeGreaterThan(0);
  expect([predicted.peakBytes, predicted.savedBytes]).not.toContain(undefined);
  expect(forward.mock.calls.length, 'simulated again').toBe(runs);
});

it.each(Object.entries(bodies))('%s, with its backward', (_, body) => {
  const backward = vi.spyOn(SimulatedRun.prototype, 'backward');
  const f = toStatic(body, inOrder);
  const x = tensor([1, 2, 3]).requiresGrad_();
  f(x).backward();
  expect(backward).not.toHaveBeenCalled();
  const part = f.programs()[0]!.stages!.planned.backward!;
  for (const { predicted } of [part.plan, part.retainingPlan]) {
    expect(predicted.peakBytes).toBeGreaterThan(0);
    expect(predicted.lowerBoundBytes).toBeLessThanOrEqual(predicted.peakBytes);
  }
  expect(backward).toHaveBeenCalled();
  x.dispose();
});

it('the bound of a new order', () => {
  const layers = deviceGuard('meta', () => Array.from({ length: 12 }, () => new nn.Linear(8, 8)));
  const loss = (x: Tensor) =>
    layers
      .reduce((y, layer) => layer.forward(y).tanh().add(y), x)
      .square()
      .mean();
  const { plan } = stepPlans(layers, loss, [16, 8]);
  const cuts = vi.spyOn(FlowNetwork.prototype, 'maxFlow');
  const { predicted } = plan({}).planned.forward;
  const searched = cuts.mock.calls.length;
  expect(searched).toBeGreaterThan(0);
  expect(predicted.peakBytes).toBeGreaterThan(0);
  expect(cuts.mock.calls.length, 'by the peak').toBe(searched);
  const bound = predicted.lowerBoundBytes;
  const found = cuts.mock.calls.length;
  expect(found).toBeGreaterThan(searched);
  expect([predicted.lowerBoundBytes, cuts.mock.calls.length]).toEqual([bound, found]);
});
