import { maxPool2d, type Pool2dOptions } from '../ops/conv.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Largest value of each window: [n, c, h, w] → [n, c, h', w']; the stride is the window's size by default. */
export class MaxPool2d extends Module {
  readonly kernel: number | readonly [number, number];
  readonly options: Pool2dOptions;

  constructor(kernel: number | readonly [number, number], options: Pool2dOptions = {}) {
    super();
    this.kernel = kernel;
    this.options = options;
  }

  override forward(input: Tensor): Tensor {
    return maxPool2d(input, this.kernel, this.options);
  }
}
