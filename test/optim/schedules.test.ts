import { describe, expect, it } from 'vitest';
import * as optim from '../../runtime/optim/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { tensor } from '../ops/eager.ts';

/** The rates of some epochs, for a first rate of 1. */
function rates(make: (optimizer: optim.Optimizer) => optim.LRScheduler, epochs: number): number[] {
  using x = tensor([1], { requiresGrad: true });
  using optimizer = new optim.SGD([x], { lr: 1 });
  const schedule = make(optimizer);
  const found = [optimizer.lr];
  while (found.length < epochs) {
    schedule.step();
    found.push(optimizer.lr);
  }
  return found.map((rate) => Number(rate.toFixed(6)));
}

describe('schedules', () => {
  it('CosineAnnealingLR goes down and up again', () => {
    const cosine = (optimizer: optim.Optimizer) => new optim.CosineAnnealingLR(optimizer, 4, 0.2);
    expect(rates(cosine, 9)).toEqual([1, 0.882843, 0.6, 0.317157, 0.2, 0.317157, 0.6, 0.882843, 1]);
  });

  it('OneCycleLR rises to the top and ends far below the start', () => {
    const options = { maxLr: 1, totalSteps: 11, pctStart: 3 / 11, divFactor: 10 };
    const linear = (optimizer: optim.Optimizer) =>
      new optim.OneCycleLR(optimizer, { ...options, annealStrategy: 'linear', finalDivFactor: 10 });
    expect(rates(linear, 11)).toEqual([
      0.1, 0.55, 1, 0.87625, 0.7525, 0.62875, 0.505, 0.38125, 0.2575, 0.13375, 0.01,
    ]);
    const cosine = (optimizer: optim.Optimizer) => new optim.OneCycleLR(optimizer, options);
    const found = rates(cosine, 11);
    expect([found[0], found[1], found[2], found[6], found[10]]).toEqual([
      0.1, 0.55, 1, 0.500005, 0.00001,
    ]);
    // After the last of the cycle's steps, too.
    expect(rates(cosine, 12)).toHaveLength(12);
    expect(() => rates(cosine, 13)).toThrow('OneCycleLR: the cycle is over');
  });

  it('MultiStepLR and LambdaLR', () => {
    const steps = (optimizer: optim.Optimizer) => new optim.MultiStepLR(optimizer, [1, 3], 0.5);
    expect(rates(steps, 5)).toEqual([1, 0.5, 0.5, 0.25, 0.25]);
    const warmUp = (optimizer: optim.Optimizer) =>
      new optim.LambdaLR(optimizer, (epoch) => Math.min(1, (epoch + 1) / 4));
    expect(rates(warmUp, 5)).toEqual([0.25, 0.5, 0.75, 1, 1]);
  });

  it('OneCycleLR takes epochs, and three phases; CyclicLR a factor of its own', () => {
    const phases: optim.OneCycleLROptions = {
      maxLr: 1,
      epochs: 2,
      stepsPerEpoch: 5,
      pctStart: 0.4,
      annealStrategy: 'linear',
    };
    const three = { ...phases, threePhase: true, divFactor: 4, finalDivFactor: 5 } as const;
    // As PyTorch's OneCycleLR(optimizer, max_lr=1, …) with the same options.
    expect(rates((optimizer) => new optim.OneCycleLR(optimizer, three), 10)).toEqual([
      0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0.183333, 0.116667, 0.05,
    ]);
    const cycles = { baseLr: 1, maxLr: 2, stepSizeUp: 2, scaleMode: 'cycle' } as const;
    const scaled = { ...cycles, scaleFn: (cycle: number) => 1 / cycle };
    expect(rates((optimizer) => new optim.CyclicLR(optimizer, scaled), 8)).toEqual([
      1, 1.5, 2, 1.5, 1, 1.25, 1.5, 1.25,
    ]);
  });

  it.each<
    [string, (o: optim.Optimizer) => optim.LRScheduler, (o: optim.Optimizer) => optim.LRScheduler]
  >([
    [
      'StepLR',
      (o) => new optim.StepLR(o, 2, 0.5),
      (o) => new optim.StepLR(o, { gamma: 0.5, stepSize: 2 }),
    ],
    [
      'MultiStepLR',
      (o) => new optim.MultiStepLR(o, [1, 3]),
      (o) => new optim.MultiStepLR(o, { milestones: [1, 3] }),
    ],
    [
      'ExponentialLR',
      (o) => new optim.ExponentialLR(o, 0.5),
      (o) => new optim.ExponentialLR(o, { gamma: 0.5 }),
    ],
    [
      'ConstantLR',
      (o) => new optim.ConstantLR(o, 0.5, 3),
      (o) => new optim.ConstantLR(o, { factor: 0.5, totalIters: 3 }),
    ],
    [
      'PolynomialLR',
      (o) => new optim.PolynomialLR(o, 5, 2),
      (o) => new optim.PolynomialLR(o, { power: 2 }),
    ],
    [
      'CosineAnnealingLR',
      (o) => new optim.CosineAnnealingLR(o, 3, 0.1),
      (o) => new optim.CosineAnnealingLR(o, { tMax: 3, etaMin: 0.1 }),
    ],
    [
      'CosineAnnealingWarmRestarts',
      (o) => new optim.CosineAnnealingWarmRestarts(o, 1, 2),
      (o) => new optim.CosineAnnealingWarmRestarts(o, { t0: 1, tMult: 2 }),
    ],
    [
      'LambdaLR',
      (o) => new optim.LambdaLR(o, (e) => e),
      (o) => new optim.LambdaLR(o, { lrLambda: (e) => e }),
    ],
    [
      'MultiplicativeLR',
      (o) => new optim.MultiplicativeLR(o, [(e) => e]),
      (o) => new optim.MultiplicativeLR(o, { lrLambda: (e) => e }),
    ],
  ])('%s takes its arguments by name', (_name, byPosition, byName) => {
    expect(rates(byName, 6)).toEqual(rates(byPosition, 6));
  });

  it('names of arguments that a schedule has not are errors', () => {
    const misspelt = { gama: 0.1 } as never;
    const make = (optimizer: optim.Optimizer) => new optim.StepLR(optimizer, misspelt);
    expect(() => rates(make, 2)).toThrow('StepLR: no such option');
    expect(() => rates(make, 2)).toThrow("did you mean 'gamma'?");
    const empty = (optimizer: optim.Optimizer) => new optim.ExponentialLR(optimizer, {} as never);
    expect(() => rates(empty, 2)).toThrow('ExponentialLR: gamma has a wrong value');
  });

  it('groups keep the ratio of their rates, or have functions of their own', () => {
    using x = tensor([1], { requiresGrad: true });
    using y = tensor([1], { requiresGrad: true });
    const groups = [{ parameters: [x] }, { parameters: [y], lr: 0.5 }];
    using optimizer = new optim.SGD(groups, { lr: 1 });
    const schedule = new optim.StepLR(optimizer, 1, 0.1);
    schedule.step();
    expect(schedule.lastLr).toEqual([0.1, 0.05]);
    expect(schedule.getLastLr()).toEqual(schedule.lastLr);
    using other = new optim.SGD(groups, { lr: 1 });
    const own = new optim.LambdaLR(other, [(epoch) => epoch + 1, () => 2]);
    own.step();
    expect(own.lastLr).toEqual([2, 1]);
    expect(() => new optim.LambdaLR(other, [() => 1])).toThrow('1 functions for 2 groups');
  });

  it('go on where a saved one stopped', () => {
    using x = tensor([1], { requiresGrad: true });
    using optimizer = new optim.SGD([x], { lr: 1 });
    const schedule = new optim.ExponentialLR(optimizer, 0.5);
    schedule.step();
    schedule.step();
    const state = JSON.parse(JSON.stringify(schedule.stateDict())) as optim.SchedulerState;
    using resumed = new optim.SGD([x], { lr: 7 });
    const second = new optim.ExponentialLR(resumed, 0.5);
    second.loadStateDict(state);
    expect(resumed.lr).toBe(0.25);
    second.step();
    expect(resumed.lr).toBe(0.125);
    expect(() => second.loadStateDict({ epoch: 0, baseRates: [1, 2] })).toThrow('2 rates');
    expect(() => new optim.StepLR(optimizer, 0)).toThrow('stepSize = 0');
  });
});

describe('parameter groups', () => {
  it('have rates and decays of their own', () => {
    using x = tensor([1], { requiresGrad: true });
    using y = tensor([1], { requiresGrad: true });
    using optimizer = new optim.SGD(
      [
        { parameters: [x], weightDecay: 1 },
        { parameters: [y], lr: 0.5 },
      ],
      { lr: 0.1 },
    );
    tidy(() => x.add(y).sum().backward());
    optimizer.step();
    optimizer.zeroGrad();
    expect([x.itemSync(), y.itemSync()].map((value) => Number(value.toFixed(6)))).toEqual([
      0.8, 0.5,
    ]);
    expect(optimizer.parameters.map((own) => own === x || own === y)).toEqual([true, true]);
    optimizer.lr = 0.25;
    expect(optimizer.groups.map(({ lr }) => lr)).toEqual([0.25, 0.25]);
  });

  it('share no parameter, and have rates in range', () => {
    using x = tensor([1], { requiresGrad: true });
    const twice = [{ parameters: [x] }, { parameters: [x] }];
    expect(() => new optim.Adam(twice)).toThrow('a parameter in two groups');
    expect(() => new optim.Adam([{ parameters: [x], lr: -1 }])).toThrow('lr = -1');
  });

  it('ConstantLR, PolynomialLR and MultiplicativeLR', () => {
    expect(rates((own) => new optim.ConstantLR(own, 0.5, 2), 4)).toEqual([0.5, 0.5, 1, 1]);
    const squared = (own: optim.Optimizer) => new optim.PolynomialLR(own, 4, 2);
    expect(rates(squared, 6)).toEqual([1, 0.5625, 0.25, 0.0625, 0, 0]);
    const growing = (own: optim.Optimizer) => new optim.MultiplicativeLR(own, (epoch) => epoch);
    expect(rates(growing, 5)).toEqual([1, 1, 2, 6, 24]);
  });

  it('SequentialLR goes from one to the next, ChainedScheduler multiplies', () => {
    const parts = (own: optim.Optimizer) =>
      [new optim.ConstantLR(own, 0.1, 2), new optim.ExponentialLR(own, 0.9)] as const;
    const sequential = (own: optim.Optimizer) => new optim.SequentialLR(own, parts(own), [2]);
    expect(rates(sequential, 5)).toEqual([0.1, 0.1, 1, 0.9, 0.81]);
    const chained = (own: optim.Optimizer) => new optim.ChainedScheduler(parts(own));
    expect(rates(chained, 5)).toEqual([0.1, 0.09, 0.81, 0.729, 0.6561]);
    expect(() => rates((own) => new optim.SequentialLR(own, parts(own), []), 1)).toThrow(
      '0 milestones for 2 schedules',
    );
    expect(() => new optim.ChainedScheduler([])).toThrow('nothing to follow');
  });

  it('CyclicLR makes triangles, lower each time when asked to', () => {
    const options = { baseLr: 0, maxLr: 1, stepSizeUp: 2 };
    const plain = (own: optim.Optimizer) => new optim.CyclicLR(own, options);
    expect(rates(plain, 7)).toEqual([0, 0.5, 1, 0.5, 0, 0.5, 1]);
    const halved = (own: optim.Optimizer) =>
      new optim.CyclicLR(own, { ...options, stepSizeDown: 4, mode: 'triangular2' });
    expect(rates(halved, 9)).toEqual([0, 0.5, 1, 0.75, 0.5, 0.25, 0, 0.25, 0.5]);
    const fading = (own: optim.Optimizer) =>
      new optim.CyclicLR(own, { ...options, mode: 'exp_range', gamma: 0.5 });
    expect(rates(fading, 4)).toEqual([0, 0.25, 0.25, 0.0625]);
  });

  it('cycles move the momentum against the rate', () => {
    using x = tensor([1], { requiresGrad: true });
    using sgd = new optim.SGD([x], { lr: 1, momentum: 0.5 });
    const cyclic = new optim.CyclicLR(sgd, { baseLr: 0, maxLr: 1, stepSizeUp: 2 });
    const momenta = [sgd.groups[0]!.momentum];
    for (let i = 0; i < 2; i++) {
      cyclic.step();
      momenta.push(sgd.groups[0]!.momentum);
    }
    expect(momenta.map((value) => Number(value.toFixed(6)))).toEqual([0.9, 0.85, 0.8]);
    using adam = new optim.Adam([x]);
    const cycle = new optim.OneCycleLR(adam, { maxLr: 1, totalSteps: 10 });
    expect(adam.groups[0]!.betas).toEqual([0.95, 0.999]);
    cycle.step();
    cycle.step();
    expect(adam.groups[0]!.betas[0]).toBeCloseTo(0.85, 12);
  });

  it('ReduceLROnPlateau waits, reduces and cools down', () => {
    using x = tensor([1], { requiresGrad: true });
    using optimizer = new optim.SGD([x], { lr: 1 });
    const plateau = new optim.ReduceLROnPlateau(optimizer, {
      factor: 0.5,
      patience: 1,
      cooldown: 1,
      minLr: 0.2,
      threshold: 0.1,
      thresholdMode: 'abs',
    });
    const after = [5, 4, 3.95, 3.95, 3.95, 3.95, 3.95, 1, 1, 1, 1, 1].map((loss) => {
      plateau.step(loss);
      return optimizer.lr;
    });
    expect(after).toEqual([1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]);
    const again = new optim.ReduceLROnPlateau(optimizer);
    again.loadStateDict(plateau.stateDict());
    expect(again.stateDict()).toEqual(plateau.stateDict());
    expect(() => new optim.ReduceLROnPlateau(optimizer, { factor: 1 })).toThrow('factor = 1');
  });
});
