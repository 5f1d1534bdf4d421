import { describe, expect, it } from 'vitest';
import {
  type CapturedStats,
  memory,
  mseLoss,
  nn,
  noGrad,
  optim,
  randn,
  seed,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

type Make = (parameters: Tensor[]) => optim.Optimizer;

const optimizers: Readonly<Record<string, Make>> = {
  'SGD with dampening': (own) => new optim.SGD(own, { lr: 0.1, momentum: 0.9, dampening: 0.5 }),
  Adam: (own) => new optim.Adam(own, { lr: 0.1, amsgrad: true, maximize: true }),
  AdamW: (own) => new optim.AdamW(own, { lr: 0.1 }),
  Adamax: (own) => new optim.Adamax(own, { lr: 0.1 }),
  NAdam: (own) => new optim.NAdam(own, { lr: 0.1 }),
  RAdam: (own) => new optim.RAdam(own, { lr: 0.1, betas: [0.8, 0.9] }),
  RMSprop: (own) => new optim.RMSprop(own, { centered: true, momentum: 0.9 }),
  Adagrad: (own) => new optim.Adagrad(own, { lrDecay: 0.1, weightDecay: 0.1 }),
  Adadelta: (own) => new optim.Adadelta(own),
  Adafactor: (own) => new optim.Adafactor(own),
  Rprop: (own) => new optim.Rprop(own),
  ASGD: (own) => new optim.ASGD(own, { t0: 2 }),
};

type Schedule = (optimizer: optim.Optimizer) => { step(): void };

const schedules: Readonly<Record<string, Schedule>> = {
  LinearLR: (own) => new optim.LinearLR(own, { totalIters: 3 }),
  CosineAnnealingLR: (own) => new optim.CosineAnnealingLR(own, 10),
  OneCycleLR: (own) => new optim.OneCycleLR(own, { maxLr: 0.1, totalSteps: 10 }),
  SequentialLR: (own) =>
    new optim.SequentialLR(
      own,
      [new optim.ConstantLR(own, 0.1, 2), new optim.ExponentialLR(own, 0.9)],
      [2],
    ),
};

type Step = (x: Tensor, y: Tensor) => Tensor;

type Descend = (optimizer: optim.Optimizer, loss: () => Tensor) => Tensor;

const inTurn: Descend = (optimizer, lossOf) => {
  const loss = lossOf();
  optimizer.step();
  optimizer.zeroGrad();
  return loss;
};

function train(
  make: Make,
  schedule: Schedule | null,
  prepare: (step: Step) => Step,
  descend: Descend = inTurn,
) {
  const before = memory.stats('cpu').allocated;
  seed(4);
  const [x, y, model] = [randn([8, 3]), randn([8, 2]), new nn.Linear(3, 2)];
  const optimizer = make(model.parameters());
  const rates = schedule?.(optimizer);
  const run = prepare((input, target) => {
    const loss = descend(optimizer, () => {
      const loss = mseLoss(model.forward(input), target);
      loss.backward();
      return loss;
    });
    rates?.step();
    return loss;
  });
  const seen: number[][] = [];
  for (let i = 0; i < 9; i++) {
    using loss = run(x, y);
    seen.push([loss.itemSync(), ...model.weight.dataSync(), ...model.bias!.dataSync()]);
    seen.push([optimizer.lr]);
  }
  for (const own of [x, y, model, optimizer]) own.dispose();
  expect(memory.stats('cpu').allocated).toBe(before);
  return seen;
}

const inTidy =
  (step: Step): Step =>
  (x, y) =>
    tidy(() => step(x, y));

function captures(): { prepare: (step: Step) => Step; stats: () => CapturedStats } {
  let stats: CapturedStats | undefined;
  const prepare = (step: Step): Step => {
    const run = toStatic(step);
    return (x, y) => {
      const loss = run(x, y);
      stats = run.stats();
      return loss;
    };
  };
  return { prepare, stats: () => stats! };
}

function expectCaptured(make: Make, schedule: Schedule | null): CapturedStats {
  const { prepare, stats } = captures();
  expect(train(make, schedule, prepare)).toEqual(train(make, schedule, inTidy));
  return stats();
}

describe('a whole step is one graph with', () => {
  it.each(Object.entries(optimizers))('%s', (_name, make) => {
    const stats = expectCaptured(make, null);
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  });

  it.each(Object.entries(schedules))('%s in it', (_name, schedule) => {
    const stats = expectCaptured((own) => new optim.AdamW(own, { lr: 0.1 }), schedule);
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  });
});

describe('a closure of step computes the gradients of the step, in one graph, with', () => {
  const byClosure: Descend = (optimizer, lossOf) =>
    noGrad(() =>
      optimizer.step(() => {
        optimizer.zeroGrad();
        return lossOf();
      }),
    );

  it.each(Object.entries(optimizers))('%s', (_name, make) => {
    const expected = train(make, null, inTidy);
    const { prepare, stats } = captures();
    expect(train(make, null, inTidy, byClosure)).toEqual(expected);
    expect(train(make, null, prepare, byClosure)).toEqual(expected);
    expect(stats()).toMatchObject({ breaks: [], fallbacks: [] });
  });

  it('not one that only starts to', () => {
    const weight = randn([3]).requiresGrad_();
    const optimizer = new optim.SGD([weight], { lr: 0.1 });
    expect(() => optimizer.step(async () => weight.sum())).toThrow('asynchronous');
    expect(() => optimizer.step(null as never)).toThrow('not a function');
    expect(optimizer.counts).toEqual([0]);
    for (const own of [weight, optimizer]) own.dispose();
  });
});

/** The rate, and the momentum where it cycles, are other numbers at the second call. */
const changing: Readonly<Record<string, Schedule>> = {
  ...schedules,
  ExponentialLR: (own) => new optim.ExponentialLR(own, 0.9),
  LambdaLR: (own) => new optim.LambdaLR(own, (epoch) => 1 / (1 + epoch)),
  'a warmup from 0': (own) => new optim.LambdaLR(own, (epoch) => epoch / 10),
  CyclicLR: (own) => new optim.CyclicLR(own, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 3 }),
};

describe('one trace serves every step', () => {
  // ASGD's averages start at t0: one trace more.
  const traces: Readonly<Record<string, number>> = { ASGD: 2 };

  it.each(Object.keys(optimizers))('of %s', (name) => {
    expect(expectCaptured(optimizers[name]!, null).translations).toBe(traces[name] ?? 1);
  });

  it.each(Object.entries(changing))('whose rate %s sets between steps', (_name, schedule) => {
    for (const make of [optimizers.AdamW!, optimizers.RMSprop!]) {
      let after: (() => void) | undefined;
      const between: Schedule = (own) => {
        const rates = schedule(own);
        after = () => rates.step();
        return { step: () => {} };
      };
      const seen = (prepare: (step: Step) => Step) =>
        train(make, between, (step) => {
          const run = prepare(step);
          return (x, y) => {
            const loss = run(x, y);
            after!();
            return loss;
          };
        });
      let translations = 0;
      const captured = seen((step) => {
        const run = toStatic(step);
        return (x, y) => {
          const loss = run(x, y);
          translations = run.stats().translations;
          return loss;
        };
      });
      expect(captured).toEqual(seen((step) => (x, y) => tidy(() => step(x, y))));
      expect(translations).toBe(1);
    }
  });

  it('that sets the rates of its groups itself, as PyTorch users do', () => {
    const trained = (prepare: (step: () => Tensor) => () => Tensor) => {
      seed(6);
      const weight = randn([3]).requiresGrad_();
      const optimizer = new optim.SGD([weight], { lr: 0.1, momentum: 0.9 });
      let taken = 0;
      const step = prepare(() => {
        for (const group of optimizer.paramGroups) group.lr = 0.1 / (1 + taken);
        taken += 1;
        const loss = weight.square().sum();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      });
      const losses = Array.from({ length: 6 }, () => step().itemSync());
      for (const own of [weight, optimizer]) own.dispose();
      return losses;
    };
    let stats: CapturedStats | undefined;
    const captured = trained((step) => {
      const run = toStatic(step);
      return () => {
        const loss = run();
        stats = run.stats();
        return loss;
      };
    });
    expect(captured).toEqual(trained((step) => step));
    // The user's own counter is a changing number from the second step on.
    expect(stats).toMatchObject({ translations: 2, breaks: [], fallbacks: [] });
  });

  it('not where numbers may not vary', () => {
    seed(4);
    const weight = randn([3]).requiresGrad_();
    const optimizer = new optim.SGD([weight], { lr: 0.1 });
    const schedule = new optim.ExponentialLR(optimizer, 0.5);
    const step = toStatic(
      () => {
        weight.mul(weight).sum().backward();
        optimizer.step();
        optimizer.zeroGrad();
      },
      { dynamic: false },
    );
    for (let i = 0; i < 3; i++) {
      step();
      schedule.step();
    }
    expect(step.stats().translations).toBe(3);
    for (const own of [weight, optimizer]) own.dispose();
  });
});
