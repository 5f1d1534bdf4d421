import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { memory, nn, optim, randn, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';

interface Recorded {
  readonly options: optim.SWALROptions;
  /** The epochs that another schedule sets first. */
  readonly other: number;
  readonly rates: readonly (readonly number[])[];
}

const recorded: readonly Recorded[] = JSON.parse(
  readFileSync(new URL('data/swa-rates.json', import.meta.url), 'utf8'),
);

const values = (module: nn.Module) =>
  Object.entries(module.stateDict()).map(([name, own]) => [name, own.tolist()]);

const model = () => {
  seed(4);
  return new nn.Sequential(new nn.Linear(2, 3), new nn.BatchNorm1d(3), new nn.Linear(3, 1));
};

describe('SWALR', () => {
  const groups = () => [0.1, 0.3].map((lr) => ({ params: [tensor([0]).requiresGrad_()], lr }));

  it.each(recorded)("has PyTorch's rates with $options", ({ options, other, rates }) => {
    const optimizer = new optim.SGD(groups(), { lr: 1 });
    const before = other > 0 ? new optim.ExponentialLR(optimizer, 0.9) : null;
    const schedule = new optim.SWALR(optimizer, options);
    rates.forEach((expected, epoch) => {
      if (epoch > 0) (before && epoch <= other ? before : schedule).step();
      expected.forEach((rate, group) => {
        expect(schedule.lastLr[group]).toBeCloseTo(rate, 12);
      });
    });
  });

  it('continues from its state', () => {
    const made = () => {
      const optimizer = new optim.SGD(groups(), { lr: 1 });
      return { optimizer, schedule: new optim.SWALR(optimizer, { swaLr: 0.05, annealEpochs: 4 }) };
    };
    const [one, two] = [made(), made()];
    for (let i = 0; i < 2; i++) one.schedule.step();
    two.optimizer.loadStateDict(one.optimizer.stateDict());
    two.schedule.loadStateDict(one.schedule.stateDict());
    for (let i = 0; i < 3; i++) {
      expect(two.schedule.lastLr).toEqual(one.schedule.lastLr);
      one.schedule.step();
      two.schedule.step();
    }
  });

  it('rejects another number of rates', () => {
    const optimizer = new optim.SGD(groups(), { lr: 1 });
    expect(() => new optim.SWALR(optimizer, { swaLr: [1] })).toThrow(/not one rate per group/);
  });
});

describe('AveragedModel', () => {
  it('has the mean of the parameters, and copies buffers', () => {
    const own = model();
    const averaged = new optim.AveragedModel(own);
    const seen: number[] = [];
    for (let i = 0; i < 4; i++) {
      own
        .forward(randn([5, 2]))
        .mean()
        .backward();
      for (const each of own.parameters()) each.detach().add_(each.grad!, -0.3);
      own.zeroGrad();
      averaged.updateParameters(own);
      seen.push(own.getParameter('0.weight').sum().itemSync());
    }
    const mean = seen.reduce((a, b) => a + b) / seen.length;
    expect(averaged.module.getParameter('0.weight').sum().itemSync()).toBeCloseTo(mean, 5);
    expect(averaged.module.getBuffer('1.runningMean').tolist()).toEqual(
      own.getBuffer('1.runningMean').tolist(),
    );
    expect(averaged.nAveraged.itemSync()).toBe(4);
    expect(Object.keys(averaged.stateDict())).toContain('module.1.runningVar');
  });

  it('has an exponential average, of buffers too', () => {
    const layer = new nn.BatchNorm1d(1);
    const averaged = new optim.AveragedModel(layer, {
      avgFn: optim.getEmaAvgFn(0.75),
      useBuffers: true,
    });
    for (const value of [4, 8, 0]) {
      layer.weight!.detach().fill_(value);
      layer.runningMean!.fill_(value);
      averaged.updateParameters(layer);
    }
    // 4, then 4 + (8 − 4) / 4, then 5 − 5 / 4.
    expect(averaged.module.weight!.itemSync()).toBe(3.75);
    expect(averaged.module.runningMean!.itemSync()).toBe(3.75);
  });

  it('averages in a captured step, to the bit', () => {
    const run = (capture: boolean) => {
      const own = model();
      const averaged = new optim.AveragedModel(own);
      const optimizer = new optim.SGD(own.parameters(), { lr: 0.1 });
      const step = (x: Tensor) => {
        optimizer.zeroGrad();
        own.forward(x).square().sum().backward();
        optimizer.step();
        averaged.updateParameters(own);
      };
      const called = capture ? toStatic(step, { fullGraph: true }) : step;
      seed(1);
      for (let i = 0; i < 3; i++) called(randn([4, 2]));
      return values(averaged);
    };
    expect(run(true)).toEqual(run(false));
  });

  it('shares in the copy what the model shares, and frees it', () => {
    const before = memory.stats('cpu').allocated;
    {
      using layer = new nn.Linear(2, 2);
      const tied = new nn.ModuleList([layer, layer]);
      using averaged = new optim.AveragedModel(tied);
      const [first, second] = averaged.module.items;
      expect([first === second, first === layer]).toEqual([true, false]);
      expect(averaged.parameters().length).toBe(2);
    }
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('says what cannot be copied or averaged', () => {
    const layer = new nn.Linear(2, 2);
    const averaged = new optim.AveragedModel(layer);
    expect(() => averaged.updateParameters(new nn.Linear(2, 2, { bias: false }))).toThrow(
      /updateParameters: another model/,
    );
    layer.registerForwardHook(() => null);
    expect(() => new optim.AveragedModel(layer)).toThrow(
      /a module with hooks or parametrizations cannot be copied/,
    );
  });
});

describe('updateBn', () => {
  it('computes the statistics of a loader, and restores modes and momenta', () => {
    const own = model().eval();
    const norm = own.at(1) as nn.BatchNorm1d;
    const batches = Array.from({ length: 3 }, () => randn([6, 2]));
    optim.updateBn(batches, own);
    const outputs = batches.map((x) => own.at(0)!.forward(x).mean(0));
    const mean = outputs.reduce((a, b) => a.add(b)).div(3);
    const found = norm.runningMean!.tolist() as number[];
    (mean.tolist() as number[]).forEach((own, i) => {
      expect(found[i]).toBeCloseTo(own, 5);
    });
    expect([own.training, norm.training, norm.momentum]).toEqual([false, false, 0.1]);
    expect(norm.numBatchesTracked!.itemSync()).toBe(3);
    optim.updateBn([{ images: batches[0]! }], own, ({ images }) => images);
    expect(norm.numBatchesTracked!.itemSync()).toBe(1);
    expect(() => optim.updateBn([{ images: batches[0]! }], own)).toThrow(/no input in the batch/);
  });
});
