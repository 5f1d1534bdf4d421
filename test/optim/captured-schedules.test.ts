/** Captured steps of schedules: the rates of eager execution, without another trace in every cycle. */

import { describe, expect, it } from 'vitest';
import { nn, optim, type Tensor, tensor, toStatic, zeros } from '../../src/index.ts';

type Schedule = { step(metric?: number): void };

/** Each with the number of translations that 40 epochs may take. */
const schedules: Readonly<Record<string, readonly [number, (o: optim.Optimizer) => Schedule]>> = {
  StepLR: [2, (o) => new optim.StepLR(o, 7, 0.5)],
  MultiStepLR: [5, (o) => new optim.MultiStepLR(o, [5, 9, 20])],
  ConstantLR: [3, (o) => new optim.ConstantLR(o, 0.5, 4)],
  LinearLR: [2, (o) => new optim.LinearLR(o)],
  ExponentialLR: [2, (o) => new optim.ExponentialLR(o, 0.9)],
  PolynomialLR: [2, (o) => new optim.PolynomialLR(o, 20, 2)],
  CosineAnnealingLR: [2, (o) => new optim.CosineAnnealingLR(o, 15)],
  CosineAnnealingWarmRestarts: [2, (o) => new optim.CosineAnnealingWarmRestarts(o, 3)],
  'CosineAnnealingWarmRestarts, longer each': [
    2,
    (o) => new optim.CosineAnnealingWarmRestarts(o, 2, 2, 0.001),
  ],
  LambdaLR: [2, (o) => new optim.LambdaLR(o, (epoch) => 1 / Math.sqrt(epoch + 1))],
  MultiplicativeLR: [2, (o) => new optim.MultiplicativeLR(o, (epoch) => 1 - 1 / (epoch + 1))],
  OneCycleLR: [4, (o) => new optim.OneCycleLR(o, { maxLr: 0.1, totalSteps: 60 })],
  CyclicLR: [3, (o) => new optim.CyclicLR(o, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 5 })],
  SequentialLR: [
    3,
    (o) =>
      new optim.SequentialLR(
        o,
        [new optim.LinearLR(o), new optim.CosineAnnealingWarmRestarts(o, 3)],
        [5],
      ),
  ],
  ChainedScheduler: [
    2,
    (o) => new optim.ChainedScheduler([new optim.LinearLR(o), new optim.ExponentialLR(o, 0.9)]),
  ],
  ReduceLROnPlateau: [5, (o) => new optim.ReduceLROnPlateau(o, { patience: 2 })],
};

/** Returns the rates of 40 epochs, and the number of translations. */
function run(make: (o: optim.Optimizer) => Schedule, captured: boolean): [number[], number] {
  using weight = nn.parameter(zeros([1]));
  const optimizer = new optim.SGD([weight], { lr: 0.1 });
  const schedule = make(optimizer);
  const step = (x: Tensor): Tensor => {
    schedule.step(1);
    return x.mul(optimizer.lr);
  };
  const called = toStatic(step, { strict: true });
  using x = tensor([1]);
  const rates = Array.from({ length: 40 }, () => {
    (captured ? called : step)(x).dispose();
    return optimizer.lr;
  });
  return [rates, called.stats().translations];
}

describe('optim/captured-schedules', () => {
  for (const [name, [most, make]] of Object.entries(schedules)) {
    it(name, () => {
      const [expected] = run(make, false);
      const [rates, translations] = run(make, true);
      expect(rates).toEqual(expected);
      expect(translations).toBeLessThanOrEqual(most);
    });
  }
});
