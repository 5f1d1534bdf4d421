/** Two hidden layers on handwritten digits. */

import { breakGraph, crossEntropy, nn, optim, relu, type Tensor } from '../../src/index.ts';
import type { WorkloadOptions } from '../../src/lab/compare/workload.ts';
import { defineWorkload } from './define-workload.ts';
import { digitBatch } from './digits.ts';

export class Mlp extends nn.Module {
  first: nn.Linear;
  second: nn.Linear;
  last: nn.Linear;
  readonly breaks: boolean;

  constructor(width: number, breaks = false) {
    super();
    this.breaks = breaks;
    this.first = new nn.Linear(28 * 28, width);
    this.second = new nn.Linear(width, width);
    this.last = new nn.Linear(width, 10);
  }

  override forward(images: Tensor): Tensor {
    const first = relu(this.first.forward(images.flatten(1)));
    if (this.breaks) breakGraph();
    const second = relu(this.second.forward(first));
    if (this.breaks) breakGraph();
    return this.last.forward(second);
  }
}

const batchOf = ({ batch, size }: WorkloadOptions) => batch ?? (size === 'full' ? 512 : 64);

/** Run by `tostatic compare`. */
export const workload = defineWorkload<Mlp>({
  model: ({ size, breaks }) => new Mlp(size === 'full' ? 1024 : 64, breaks),
  optimizer: (model) => new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 }),
  loss: (model, images, labels) => crossEntropy(model.forward(images!), labels!),
  inputs: (i, options) => digitBatch(i, batchOf(options)),
});
