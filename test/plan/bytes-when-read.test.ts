/** A plan that keeps its order is simulated when its bytes are read: first calls and references of checks read none. */

import { afterEach, expect, it, vi } from 'vitest';
import { SimulatedRun } from '../../runtime/run-program/simulate/simulated-run.ts';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

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

afterEach(() => {
  vi.restoreAllMocks();
});

it.each(Object.entries(bodies))('%s', (_, body) => {
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
