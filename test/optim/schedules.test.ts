import { describe, expect, it } from 'vitest';
import * as optim from '../../runtime/optim/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { tensor } from '../ops/eager.ts';
import { readRecords } from '../ops/recorded.ts';
import { type RecordedSteps, replay } from './recorded-steps.ts';

type Make = (optimizer: optim.Optimizer, args: readonly number[]) => optim.LRScheduler;

const makers: Readonly<Record<string, Make>> = {
  StepLR: (optimizer, [size, gamma]) => new optim.StepLR(optimizer, size!, gamma),
  ExponentialLR: (optimizer, [gamma]) => new optim.ExponentialLR(optimizer, gamma!),
  LinearLR: (optimizer, [startFactor, endFactor, totalIters]) =>
    new optim.LinearLR(optimizer, {
      startFactor: startFactor!,
      endFactor: endFactor!,
      totalIters: totalIters!,
    }),
  CosineAnnealingWarmRestarts: (optimizer, [t0, tMult]) =>
    new optim.CosineAnnealingWarmRestarts(optimizer, t0!, tMult),
};

interface ScheduleRecord extends RecordedSteps {
  readonly options: { readonly lr: number };
  readonly schedule: string;
  readonly scheduleArguments: readonly number[];
}

describe("schedules follow PyTorch's recorded rates", () => {
  const records = readRecords<ScheduleRecord>(
    new URL('data/pytorch-schedules.jsonl', import.meta.url),
  );
  for (const record of records) {
    it(`${record.schedule}(${record.scheduleArguments.join(', ')})`, () => {
      let schedule: optim.LRScheduler | undefined;
      replay(
        record,
        (parameters) => {
          const optimizer = new optim.SGD(parameters, record.options);
          schedule = makers[record.schedule]!(optimizer, record.scheduleArguments);
          return optimizer;
        },
        () => schedule!.step(),
      );
    });
  }
});

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
    expect(() => rates(cosine, 12)).toThrow('OneCycleLR: the cycle is over');
  });

  it('MultiStepLR and LambdaLR', () => {
    const steps = (optimizer: optim.Optimizer) => new optim.MultiStepLR(optimizer, [1, 3], 0.5);
    expect(rates(steps, 5)).toEqual([1, 0.5, 0.5, 0.25, 0.25]);
    const warmUp = (optimizer: optim.Optimizer) =>
      new optim.LambdaLR(optimizer, (epoch) => Math.min(1, (epoch + 1) / 4));
    expect(rates(warmUp, 5)).toEqual([0.25, 0.5, 0.75, 1, 1]);
  });

  it('groups keep the ratio of their rates, or have functions of their own', () => {
    using x = tensor([1], { requiresGrad: true });
    using y = tensor([1], { requiresGrad: true });
    const groups = [{ parameters: [x] }, { parameters: [y], lr: 0.5 }];
    using optimizer = new optim.SGD(groups, { lr: 1 });
    const schedule = new optim.StepLR(optimizer, 1, 0.1);
    schedule.step();
    expect(schedule.lastLr).toEqual([0.1, 0.05]);
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
    expect(optimizer.parameters).toEqual([x, y]);
    optimizer.lr = 0.25;
    expect(optimizer.groups.map(({ lr }) => lr)).toEqual([0.25, 0.25]);
  });

  it('share no parameter, and have rates in range', () => {
    using x = tensor([1], { requiresGrad: true });
    const twice = [{ parameters: [x] }, { parameters: [x] }];
    expect(() => new optim.Adam(twice)).toThrow('a parameter in two groups');
    expect(() => new optim.Adam([{ parameters: [x], lr: -1 }])).toThrow('lr = -1');
  });
});
