import { type MaxPoolOptions, maxPool2d } from '../ops/max-pool.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Largest value of each window: [n, c, h, w] → [n, c, h', w']; the stride is the window's size by default. */
export class MaxPool2d extends Module {
  readonly kernel: number | readonly [number, number];
  readonly options: MaxPoolOptions;

  constructor(kernel: number | readonly [number, number], options: MaxPoolOptions = {}) {
    super();
    this.kernel = kernel;
    this.options = options;
  }

  override forward(input: Tensor): Tensor {
    return maxPool2d(input, this.kernel, this.options);
  }
}
