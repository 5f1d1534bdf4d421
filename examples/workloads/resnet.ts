/** ResNet-18 (He et al., 2015): pairs of convolutions with batch normalization and a residual connection. */

import { breakGraph, crossEntropy, nn, optim, relu, type Tensor } from '../../src/index.ts';
import type { WorkloadOptions } from '../../src/lab/compare/workload.ts';
import { defineWorkload } from './define-workload.ts';
import { countedBatch, digitBatch } from './digits.ts';

const convolution = (from: number, to: number, kernel: number, stride = 1) =>
  new nn.Conv2d(from, to, kernel, { stride, padding: (kernel - 1) / 2, bias: false });

/** A 1×1 convolution where the size or the channels change. */
class Shortcut extends nn.Module {
  conv: nn.Conv2d;
  norm: nn.BatchNorm2d;

  constructor(from: number, to: number, stride: number) {
    super();
    this.conv = convolution(from, to, 1, stride);
    this.norm = new nn.BatchNorm2d(to);
  }

  override forward(x: Tensor): Tensor {
    return this.norm.forward(this.conv.forward(x));
  }
}

class BasicBlock extends nn.Module {
  conv1: nn.Conv2d;
  norm1: nn.BatchNorm2d;
  conv2: nn.Conv2d;
  norm2: nn.BatchNorm2d;
  shortcut: Shortcut | null;

  constructor(from: number, to: number, stride: number) {
    super();
    this.conv1 = convolution(from, to, 3, stride);
    this.norm1 = new nn.BatchNorm2d(to);
    this.conv2 = convolution(to, to, 3);
    this.norm2 = new nn.BatchNorm2d(to);
    this.shortcut = stride === 1 && from === to ? null : new Shortcut(from, to, stride);
  }

  override forward(x: Tensor): Tensor {
    const first = relu(this.norm1.forward(this.conv1.forward(x)));
    const second = this.norm2.forward(this.conv2.forward(first));
    return relu(second.add(this.shortcut ? this.shortcut.forward(x) : x));
  }
}

export interface ResNetSize {
  readonly channels: number;
  readonly classes: number;
  /** Channels of the first stage; each later stage doubles them. */
  readonly width: number;
  /** For large images: the stem divides each side by four. */
  readonly large: boolean;
}

export const fullSize: ResNetSize = { channels: 3, classes: 1000, width: 64, large: true };
export const reducedSize: ResNetSize = { channels: 1, classes: 10, width: 4, large: false };

export class ResNet18 extends nn.Module {
  stem: nn.Conv2d;
  norm: nn.BatchNorm2d;
  pool: nn.MaxPool2d | null;
  readonly blocks: readonly BasicBlock[];
  last: nn.Linear;
  readonly breaks: boolean;

  constructor({ channels, classes, width, large }: ResNetSize, breaks = false) {
    super();
    this.breaks = breaks;
    this.stem = large ? convolution(channels, width, 7, 2) : convolution(channels, width, 3);
    this.norm = new nn.BatchNorm2d(width);
    this.pool = large ? new nn.MaxPool2d(3, { stride: 2, padding: 1 }) : null;
    this.blocks = [0, 1, 2, 3].flatMap((stage) => {
      const to = width * 2 ** stage;
      const from = stage === 0 ? width : to / 2;
      return [new BasicBlock(from, to, stage === 0 ? 1 : 2), new BasicBlock(to, to, 1)];
    });
    this.last = new nn.Linear(8 * width, classes);
  }

  override forward(images: Tensor): Tensor {
    let x = relu(this.norm.forward(this.stem.forward(images)));
    if (this.pool) x = this.pool.forward(x);
    for (const block of this.blocks) {
      if (this.breaks) breakGraph();
      x = block.forward(x);
    }
    return this.last.forward(x.mean([2, 3]));
  }
}

function batchOf(i: number, { size, batch }: WorkloadOptions): Tensor[] {
  return size === 'full' ? countedBatch(batch ?? 32, 3, 224) : digitBatch(i, batch ?? 16);
}

/** Run by `tostatic compare`. */
export const workload = defineWorkload<ResNet18>({
  model: ({ size, breaks }) => new ResNet18(size === 'full' ? fullSize : reducedSize, breaks),
  optimizer: (model) =>
    new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9, weightDecay: 1e-4 }),
  loss: (model, images, labels) => crossEntropy(model.forward(images!), labels!),
  inputs: batchOf,
});
