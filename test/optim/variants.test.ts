import { describe, expect, it } from 'vitest';
import * as optim from '../../runtime/optim/index.ts';
import { Adagrad, Adam, RMSprop, SGD } from '../../runtime/optim/index.ts';
import type { Optimizer } from '../../runtime/optim/optimizer.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, type Tensor, tensor } from '../ops/eager.ts';

/** The parameter after each of some gradients. */
function path(make: (x: Tensor) => Optimizer, gradients: readonly number[]): number[] {
  using x = tensor([1], { requiresGrad: true });
  using optimizer = make(x);
  return gradients.map((gradient) => {
    tidy(() => x.mul(gradient).sum().backward());
    optimizer.step();
    optimizer.zeroGrad();
    return x.itemSync();
  });
}

describe('formulas', () => {
  it('Adagrad divides by the root of the sum of squares, at a rate that decays', () => {
    const gradients = [3, -4, 1];
    let [x, sum] = [1, 0.5];
    const expected = gradients.map((gradient, step) => {
      const slope = gradient + 0.1 * x;
      sum += slope * slope;
      x -= ((0.2 / (1 + step * 0.5)) * slope) / (Math.sqrt(sum) + 1e-10);
      return x;
    });
    const options = { lr: 0.2, lrDecay: 0.5, weightDecay: 0.1, initialAccumulatorValue: 0.5 };
    expectClose(
      path((own) => new Adagrad([own], options), gradients),
      expected,
      'x',
    );
  });

  it('plain RMSprop divides by the root of the average of squares', () => {
    let [x, square] = [1, 0];
    const expected = [3, -4].map((gradient) => {
      square = 0.9 * square + 0.1 * gradient * gradient;
      x -= (0.2 * gradient) / (Math.sqrt(square) + 1e-8);
      return x;
    });
    expectClose(
      path((own) => new RMSprop([own], { lr: 0.2, alpha: 0.9 }), [3, -4]),
      expected,
      'x',
    );
  });

  it('SGD dampens all gradients but the first', () => {
    // v: 3, then 0.9·3 + 0.5·(−4) = 0.7
    const options = { lr: 0.1, momentum: 0.9, dampening: 0.5 };
    expectClose(
      path((own) => new SGD([own], options), [3, -4]),
      [0.7, 0.63],
      'x',
    );
    using x = tensor([1], { requiresGrad: true });
    expect(() => new SGD([x], { ...options, nesterov: true })).toThrow('dampening = 0.5');
  });

  it('steps without a gradient do not count for the bias correction', () => {
    using x = tensor([1], { requiresGrad: true });
    using y = tensor([1], { requiresGrad: true });
    using optimizer = new Adam([x, y], { lr: 0.1 });
    for (const own of [x, x, y]) {
      tidy(() => own.mul(5).sum().backward());
      optimizer.step();
      optimizer.zeroGrad();
    }
    expect(optimizer.counts).toEqual([2, 1]);
    // Its first step, which is the rate.
    expectClose(y.dataSync(), [0.9], 'y');
  });
});

type Numbers = readonly number[];

const slopes: Numbers = [3, -4, 0.5, 2, -1, 0.25, 3];

/** An optimizer in plain numbers: the step from (x, slope) at step t ≥ 1, with state of its own. */
type Reference = () => (x: number, slope: number, t: number) => number;

interface Formula {
  readonly make: (x: Tensor) => Optimizer;
  readonly reference: Reference;
}

/** Written from the papers' and PyTorch's formulas, one element, in float64. */
const formulas: Readonly<Record<string, Formula>> = {
  Adadelta: {
    make: (x) => new optim.Adadelta([x], { lr: 0.7, rho: 0.8, eps: 1e-3, weightDecay: 0.1 }),
    reference: () => {
      let [square, change] = [0, 0];
      return (x, given) => {
        const slope = given + 0.1 * x;
        square = 0.8 * square + 0.2 * slope ** 2;
        const delta = (Math.sqrt(change + 1e-3) / Math.sqrt(square + 1e-3)) * slope;
        change = 0.8 * change + 0.2 * delta ** 2;
        return x - 0.7 * delta;
      };
    },
  },
  Adamax: {
    make: (x) => new optim.Adamax([x], { lr: 0.05, betas: [0.8, 0.9], eps: 1e-4 }),
    reference: () => {
      let [average, largest] = [0, 0];
      return (x, slope, t) => {
        average = 0.8 * average + 0.2 * slope;
        largest = Math.max(0.9 * largest, Math.abs(slope) + 1e-4);
        return x - (0.05 / (1 - 0.8 ** t)) * (average / largest);
      };
    },
  },
  NAdam: {
    make: (x) => new optim.NAdam([x], { lr: 0.05, betas: [0.8, 0.9], momentumDecay: 0.1 }),
    reference: () => {
      let [average, square, product] = [0, 0, 1];
      const momentum = (t: number) => 0.8 * (1 - 0.5 * 0.96 ** (t * 0.1));
      return (x, slope, t) => {
        average = 0.8 * average + 0.2 * slope;
        square = 0.9 * square + 0.1 * slope ** 2;
        product *= momentum(t);
        const root = Math.sqrt(square / (1 - 0.9 ** t)) + 1e-8;
        const ahead = (momentum(t + 1) * average) / (1 - product * momentum(t + 1));
        return x - 0.05 * ((((1 - momentum(t)) * slope) / (1 - product) + ahead) / root);
      };
    },
  },
  RAdam: {
    make: (x) => new optim.RAdam([x], { lr: 0.05, betas: [0.8, 0.9] }),
    reference: () => {
      let [average, square] = [0, 0];
      return (x, slope, t) => {
        average = 0.8 * average + 0.2 * slope;
        square = 0.9 * square + 0.1 * slope ** 2;
        const hat = average / (1 - 0.8 ** t);
        const most = 2 / (1 - 0.9) - 1;
        const length = most - (2 * t * 0.9 ** t) / (1 - 0.9 ** t);
        if (length <= 5) return x - 0.05 * hat;
        const rest = ((length - 4) * (length - 2) * most) / ((most - 4) * (most - 2) * length);
        const adaptive = Math.sqrt(1 - 0.9 ** t) / (Math.sqrt(square) + 1e-8);
        return x - 0.05 * hat * adaptive * Math.sqrt(rest);
      };
    },
  },
  Rprop: {
    make: (x) => new optim.Rprop([x], { lr: 0.1, etas: [0.5, 1.5], stepSizes: [0.06, 0.2] }),
    reference: () => {
      let [before, size] = [0, 0.1];
      return (x, given) => {
        const turn = Math.sign(given * before);
        const factor = turn > 0 ? 1.5 : turn < 0 ? 0.5 : 1;
        size = Math.min(0.2, Math.max(0.06, size * factor));
        before = turn < 0 ? 0 : given;
        return x - Math.sign(before) * size;
      };
    },
  },
  ASGD: {
    make: (x) => new optim.ASGD([x], { lr: 0.1, lambd: 0.5, alpha: 0.75 }),
    reference: () => (x, slope, t) => {
      const rate = 0.1 / (1 + 0.5 * 0.1 * (t - 1)) ** 0.75;
      return x * (1 - 0.5 * rate) - rate * slope;
    },
  },
  'Adam, maximizing': {
    make: (x) => new Adam([x], { lr: 0.1, maximize: true }),
    reference: () => {
      let [average, square] = [0, 0];
      return (x, slope, t) => {
        average = 0.9 * average - 0.1 * slope;
        square = 0.999 * square + 0.001 * slope ** 2;
        const root = Math.sqrt(square / (1 - 0.999 ** t)) + 1e-8;
        return x - (0.1 * average) / (1 - 0.9 ** t) / root;
      };
    },
  },
};

describe('further kinds follow their formulas', () => {
  for (const [name, { make, reference }] of Object.entries(formulas)) {
    it(name, () => {
      const before = allocated();
      const step = reference();
      let x = 1;
      const expected = slopes.map((slope, i) => {
        x = step(x, slope, i + 1);
        return x;
      });
      expectClose(path(make, slopes), expected, name, { relative: 1e-4, absolute: 1e-5 });
      expect(allocated()).toBe(before);
    });
  }

  it('ASGD has the mean since a number of steps', () => {
    using x = tensor([1], { requiresGrad: true });
    using optimizer = new optim.ASGD([x], { lr: 0.1, lambd: 0, t0: 1 });
    const seen: number[] = [];
    for (const slope of [1, 2, -3, 1]) {
      tidy(() => x.mul(slope).sum().backward());
      optimizer.step();
      optimizer.zeroGrad();
      seen.push(x.itemSync());
    }
    const mean = (seen[2]! + seen[3]!) / 2;
    expect(optimizer.averages[0]!.itemSync()).toBeCloseTo(mean, 6);
  });

  it('NAdam of a parameter that missed steps is as if it began later', () => {
    using x = tensor([1], { requiresGrad: true });
    using y = tensor([1], { requiresGrad: true });
    using both = new optim.NAdam([x, y], { lr: 0.1 });
    const stepped = (optimizer: Optimizer, ...own: Tensor[]) => {
      for (const one of own) tidy(() => one.mul(2).sum().backward());
      optimizer.step();
      optimizer.zeroGrad();
    };
    stepped(both, x);
    stepped(both, x, y);
    stepped(both, y);
    using z = tensor([1], { requiresGrad: true });
    using alone = new optim.NAdam([z], { lr: 0.1 });
    stepped(alone, z);
    stepped(alone, z);
    expectClose(y.dataSync(), z.dataSync(), 'y');
    expect(both.counts).toEqual([2, 2]);
  });

  it('groups have options of their own', () => {
    using x = tensor([1], { requiresGrad: true });
    using y = tensor([1], { requiresGrad: true });
    using optimizer = new SGD(
      [
        { parameters: [x], momentum: 0.9 },
        { parameters: [y], lr: 0.5, maximize: true },
      ],
      { lr: 0.1 },
    );
    for (let i = 0; i < 2; i++) {
      tidy(() => x.add(y).sum().backward());
      optimizer.step();
      optimizer.zeroGrad();
    }
    expectClose(x.dataSync(), [1 - 0.1 - 0.19], 'x');
    expectClose(y.dataSync(), [2], 'y');
    expect(() => new SGD([{ parameters: [x], momentum: -1 }], { lr: 0.1 })).toThrow('momentum');
  });
});
