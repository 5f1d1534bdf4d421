import { alphaDropout, dropout, featureDropout } from '../ops/random/dropout.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

/** While training, zeroes each element with probability `p` and enlarges the rest; else the input itself. */
export class Dropout extends Module {
  readonly p: number;

  constructor(p = 0.5) {
    super();
    this.p = p;
  }

  override forward(input: Tensor): Tensor {
    return this.active ? dropout(input, this.p) : input;
  }

  /** Something may be zeroed. */
  protected get active(): boolean {
    return this.training && this.p > 0;
  }
}

/** Zeroes whole channels: [n, c, l]. */
export class Dropout1d extends Dropout {
  override forward(input: Tensor): Tensor {
    return this.active ? featureDropout(input, this.p) : input;
  }
}

/** Zeroes whole channels: [n, c, h, w]. */
export class Dropout2d extends Dropout1d {}

/** Zeroes whole channels: [n, c, d, h, w]. */
export class Dropout3d extends Dropout1d {}

/** Keeps mean and variance of what SELU gives. */
export class AlphaDropout extends Dropout {
  override forward(input: Tensor): Tensor {
    return this.active ? alphaDropout(input, this.p) : input;
  }
}
