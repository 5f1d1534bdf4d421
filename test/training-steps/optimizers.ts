/** Every optimizer, with options that a seed chooses. */

import { optim, type Tensor } from '../../src/index.ts';
import type { Choices } from './choices.ts';

type Make = (choices: Choices, parameters: readonly Tensor[]) => optim.Optimizer;

function rates(choices: Choices, lr: number) {
  return { lr, weightDecay: choices.of([0, 0, 1e-2]), maximize: choices.chance(0.2) };
}

export const optimizers: Readonly<Record<string, Make>> = {
  SGD: (c, own) => {
    const momentum = c.of([0, 0.9]);
    const nesterov = momentum > 0 && c.chance(0.5);
    const dampening = nesterov ? 0 : c.of([0, 0.5]);
    return new optim.SGD(own, { ...rates(c, 0.05), momentum, nesterov, dampening });
  },
  Adam: (c, own) => new optim.Adam(own, { ...rates(c, 1e-2), amsgrad: c.chance(0.5) }),
  AdamW: (c, own) => new optim.AdamW(own, { ...rates(c, 1e-2), amsgrad: c.chance(0.5) }),
  Adamax: (c, own) => new optim.Adamax(own, rates(c, 1e-2)),
  NAdam: (c, own) => new optim.NAdam(own, rates(c, 1e-2)),
  RAdam: (c, own) => new optim.RAdam(own, rates(c, 1e-2)),
  RMSprop: (c, own) =>
    new optim.RMSprop(own, {
      ...rates(c, 1e-2),
      centered: c.chance(0.5),
      momentum: c.of([0, 0.9]),
    }),
  Adagrad: (c, own) => new optim.Adagrad(own, { ...rates(c, 1e-2), lrDecay: c.of([0, 0.1]) }),
  Adadelta: (c, own) => new optim.Adadelta(own, rates(c, 1)),
  Adafactor: (c, own) => new optim.Adafactor(own, { ...rates(c, 1e-2), d: c.of([1, 2]) }),
  Rprop: (c, own) => new optim.Rprop(own, { lr: 1e-2 }),
  ASGD: (c, own) => new optim.ASGD(own, { ...rates(c, 1e-2), t0: c.of([1, 2, 1e6]) }),
};
