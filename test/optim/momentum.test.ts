import { describe, expect, it } from 'vitest';
import { memory, optim, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { expectClose } from '../ops/eager.ts';

interface Run {
  readonly make: (x: Tensor) => optim.Optimizer;
  readonly schedule?: (optimizer: optim.Optimizer) => { step(): void };
  /** The step before which the momentum is set. */
  readonly setAt?: number;
}

const slopes = [0.5, 1, 0.25];

/** The parameter after each of six steps on Σ slope · x². */
function train({ make, schedule, setAt }: Run, isCaptured: boolean) {
  const before = memory.stats('cpu').allocated;
  const x = tensor([1, -2, 3], { dtype: 'float64', requiresGrad: true });
  const factors = tensor(slopes, { dtype: 'float64' });
  const optimizer = make(x);
  const rates = schedule?.(optimizer);
  const step = (own: Tensor): void => {
    own.mul(own).mul(factors).sum().backward();
    optimizer.step();
    optimizer.zeroGrad();
    rates?.step();
  };
  const captured = toStatic(step);
  const seen: number[][] = [];
  for (let i = 0; i < 6; i++) {
    if (i === setAt) for (const group of optimizer.groups) Object.assign(group, { momentum: 0.9 });
    if (isCaptured) captured(x);
    else tidy(() => step(x));
    seen.push([...x.dataSync()]);
  }
  const stats = isCaptured ? captured.stats() : null;
  for (const own of [x, factors, optimizer]) own.dispose();
  expect(memory.stats('cpu').allocated).toBe(before);
  return { seen, stats };
}

const sgd = (options: Partial<optim.SGDOptions> = {}) => {
  return (x: Tensor) => new optim.SGD([x], { lr: 0.1, ...options });
};

/** Recorded from PyTorch, to 7 digits. */
const recorded: Readonly<Record<string, Run & { readonly expected: readonly number[][] }>> = {
  'SGD whose momentum is set at the third step; dampening spares that one': {
    make: sgd({ dampening: 0.5 }),
    setAt: 2,
    expected: [
      [0.9, -1.6, 2.85],
      [0.81, -1.28, 2.7075],
      [0.729, -1.024, 2.572125],
      [0.61965, -0.6912, 2.3859844],
      [0.4902525, -0.32256, 2.1588082],
      [0.3492821, 0.041472, 1.9003794],
    ],
  },
  'SGD without momentum under OneCycleLR': {
    make: sgd(),
    schedule: (own) => new optim.OneCycleLR(own, { maxLr: 0.1, totalSteps: 8 }),
    expected: [
      [0.996, -1.984, 2.994],
      [0.8432195, -1.3741888, 2.7645835],
      [0.6066923, -0.4901038, 2.3981273],
      [0.3858142, 0.2309783, 2.034884],
      [0.2290542, 0.6470271, 1.755794],
      [0.149011, 0.8056285, 1.5999812],
    ],
  },
  'SGD without momentum under CyclicLR': {
    make: sgd(),
    schedule: (own) => new optim.CyclicLR(own, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 3 }),
    expected: [
      [0.99, -1.96, 2.985],
      [0.9157333, -1.6645333, 2.8733],
      [0.7433264, -1.0006098, 2.6098387],
      [0.4719574, -0.041718, 2.1782481],
      [0.2806217, 0.523476, 1.8502482],
      [0.1746401, 0.7615035, 1.6508052],
    ],
  },
};

describe('momentum starts when a schedule or the user sets it, as in PyTorch', () => {
  it.each(Object.entries(recorded))('%s', (_name, run) => {
    const { seen } = train(run, false);
    run.expected.forEach((values, i) => {
      expectClose(seen[i]!, values, `step ${i}`, { absolute: 1e-6 });
    });
  });

  it.each(Object.entries(recorded))('%s, captured', (_name, run) => {
    const { seen, stats } = train(run, true);
    expect(seen).toEqual(train(run, false).seen);
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  });

  it('RMSprop, captured and not', () => {
    const run: Run = { make: (x) => new optim.RMSprop([x], { lr: 0.1 }), setAt: 2 };
    const still = train({ make: run.make }, false).seen;
    const { seen } = train(run, false);
    expect(seen.slice(0, 3)).toEqual(still.slice(0, 3));
    expect(seen[5]).not.toEqual(still[5]);
    expect(train(run, true).seen).toEqual(seen);
  });
});

it('momentum that started late is saved and loaded', () => {
  tidy(() => {
    const make = () => tensor([1, -2], { requiresGrad: true });
    const stepOf = (x: Tensor, optimizer: optim.Optimizer) => {
      x.mul(x).sum().backward();
      optimizer.step();
      optimizer.zeroGrad();
    };
    const x = make();
    const optimizer = new optim.SGD([x], { lr: 0.1 });
    stepOf(x, optimizer);
    optimizer.groups[0]!.momentum = 0.9;
    stepOf(x, optimizer);
    const y = x.clone().detach().requiresGrad_();
    const other = new optim.SGD([y], { lr: 0.1 });
    other.loadStateDict(optimizer.stateDict());
    stepOf(x, optimizer);
    stepOf(y, other);
    expect([...y.dataSync()]).toEqual([...x.dataSync()]);
    optimizer.dispose();
    other.dispose();
  });
});

it('a schedule that is to move a momentum that the optimizer lacks is an error', () => {
  using x = tensor([1], { requiresGrad: true });
  using optimizer = new optim.Adagrad([x], { lr: 0.1 });
  const options = { maxLr: 0.1, totalSteps: 8, cycleMomentum: true };
  expect(() => new optim.OneCycleLR(optimizer, options)).toThrow('has no momentum');
  expect(new optim.OneCycleLR(optimizer, { ...options, cycleMomentum: false }).epoch).toBe(0);
});
