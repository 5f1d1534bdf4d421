/** Two convolutions with pooling on handwritten digits. */

import { breakGraph, crossEntropy, nn, optim, relu, type Tensor } from '../../src/index.ts';
import type { WorkloadOptions } from '../../src/lab/compare/workload.ts';
import { defineWorkload } from './define-workload.ts';
import { digitBatch } from './digits.ts';

export class ConvNet extends nn.Module {
  first: nn.Conv2d;
  second: nn.Conv2d;
  pool = new nn.MaxPool2d(2);
  dropout = new nn.Dropout(0);
  last: nn.Linear;
  readonly breaks: boolean;

  constructor(channels: number, breaks = false) {
    super();
    this.breaks = breaks;
    this.first = new nn.Conv2d(1, channels, 5, { padding: 2 });
    this.second = new nn.Conv2d(channels, 2 * channels, 5, { padding: 2 });
    this.last = new nn.Linear(2 * channels * 7 * 7, 10);
  }

  override forward(images: Tensor): Tensor {
    const edges = this.pool.forward(relu(this.first.forward(images)));
    if (this.breaks) breakGraph();
    const parts = this.pool.forward(relu(this.second.forward(edges)));
    if (this.breaks) breakGraph();
    return this.last.forward(this.dropout.forward(parts.flatten(1)));
  }
}

const batchOf = ({ batch, size }: WorkloadOptions) => batch ?? (size === 'full' ? 256 : 32);

/** Run by `tostatic compare`. */
export const workload = defineWorkload<ConvNet>({
  model: ({ size, breaks }) => new ConvNet(size === 'full' ? 32 : 4, breaks),
  optimizer: (model) => new optim.Adam(model.parameters(), { lr: 3e-3 }),
  loss: (model, images, labels) => crossEntropy(model.forward(images!), labels!),
  inputs: (i, options) => digitBatch(i, batchOf(options)),
});
