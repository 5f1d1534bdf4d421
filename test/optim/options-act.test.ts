/** Every option of an optimizer changes its steps: none is accepted and then ignored. */

import { expect, it } from 'vitest';
import { optim, type Tensor, tensor } from '../../src/index.ts';

type Make = (parameters: Tensor[], options: object) => optim.Optimizer;

const rates = { lr: 0.03, weightDecay: 0.3, maximize: true };
const moments = { ...rates, betas: [0.5, 0.6], eps: 0.1 };

/** Other values than the defaults; `with`: options that others need in order to act. */
const optimizers: Readonly<Record<string, { make: Make; others: object; with?: object }>> = {
  SGD: {
    make: (parameters, options) => new optim.SGD(parameters, { lr: 0.1, ...options }),
    others: { ...rates, momentum: 0.5, dampening: 0.5, nesterov: true },
    with: { momentum: 0.9 },
  },
  Adam: {
    make: (parameters, options) => new optim.Adam(parameters, options),
    others: { ...moments, amsgrad: true, decoupledWeightDecay: true },
    with: { betas: [0.9, 0.7], weightDecay: 0.1 },
  },
  AdamW: {
    make: (parameters, options) => new optim.AdamW(parameters, options),
    others: { ...moments, amsgrad: true },
    with: { betas: [0.9, 0.7] },
  },
  Adamax: {
    make: (parameters, options) => new optim.Adamax(parameters, options),
    others: moments,
  },
  NAdam: {
    make: (parameters, options) => new optim.NAdam(parameters, options),
    others: { ...moments, momentumDecay: 0.5, decoupledWeightDecay: true },
    with: { weightDecay: 0.1 },
  },
  RAdam: {
    make: (parameters, options) => new optim.RAdam(parameters, options),
    others: { ...moments, decoupledWeightDecay: true },
    with: { weightDecay: 0.1 },
  },
  Adagrad: {
    make: (parameters, options) => new optim.Adagrad(parameters, options),
    others: { ...rates, lrDecay: 0.5, initialAccumulatorValue: 0.5, eps: 0.5 },
  },
  Adadelta: {
    make: (parameters, options) => new optim.Adadelta(parameters, options),
    others: { ...rates, rho: 0.5, eps: 0.1 },
  },
  Adafactor: {
    make: (parameters, options) => new optim.Adafactor(parameters, options),
    others: { ...rates, beta2Decay: -0.1, eps: [0.5, 0.5], d: 2 },
  },
  RMSprop: {
    make: (parameters, options) => new optim.RMSprop(parameters, options),
    others: { ...rates, alpha: 0.5, eps: 0.1, momentum: 0.5, centered: true },
  },
  Rprop: {
    make: (parameters, options) => new optim.Rprop(parameters, options),
    others: { lr: 0.03, maximize: true, etas: [0.3, 2], stepSizes: [0.005, 0.011] },
  },
  ASGD: {
    make: (parameters, options) => new optim.ASGD(parameters, options),
    others: { ...rates, lambd: 0.5, alpha: 0.3, t0: 2 },
  },
};

/** What 12 steps make of a parameter, and, where the optimizer keeps an average of it, of that. */
function after(make: Make, options: object): string {
  const w = tensor([1, -2, 3]).requiresGrad_();
  const optimizer = make([w], options);
  for (let step = 0; step < 12; step++) {
    optimizer.zeroGrad();
    w.mul(tensor([0.5, 0.1, -0.2]))
      .pow(2)
      .sum()
      .mul(step % 4 === 3 ? -3 : 1)
      .backward();
    optimizer.step();
  }
  const averages = optimizer instanceof optim.ASGD ? optimizer.averages : [];
  return JSON.stringify([w, ...averages].map((each) => [...each.dataSync()]));
}

it.each(Object.entries(optimizers))('%s', (_name, { make, others, with: needed = {} }) => {
  const usual = after(make, needed);
  const ignored = Object.entries(others).filter(([option, value]) => {
    return after(make, { ...needed, [option]: value }) === usual;
  });
  expect(ignored).toEqual([]);
});

it.each([optim.Adam, optim.AdamW])('state in 8 bits acts where parameters are large', (Kind) => {
  const after = (stateBits: 8 | 32) => {
    const w = tensor(Float32Array.from({ length: 4096 }, (_, i) => Math.sin(i))).requiresGrad_();
    const optimizer = new Kind([w], { stateBits });
    for (let step = 0; step < 3; step++) {
      optimizer.zeroGrad();
      w.pow(3).sum().backward();
      optimizer.step();
    }
    return JSON.stringify([...w.dataSync()]);
  };
  expect(after(8)).not.toBe(after(32));
});

it('Rprop has no weight decay, in no group', () => {
  const group = { parameters: [tensor([1]).requiresGrad_()], weightDecay: 0.1 };
  expect(() => new optim.Rprop([group])).toThrow(/no such option/);
});
