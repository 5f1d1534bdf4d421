import { type Conv2dOptions, conv2d } from '../ops/conv.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { kaimingUniform, type Parameter } from './parameter.ts';

export interface Conv2dLayerOptions extends Conv2dOptions {
  /** True when left out. */
  readonly bias?: boolean;
}

/** Cross-correlation: [n, in, h, w] → [n, out, h', w']; weight [out, in / groups, kh, kw], bias [out]. */
export class Conv2d extends Module {
  weight: Parameter;
  bias: Parameter | null;
  readonly options: Conv2dOptions;

  constructor(
    inChannels: number,
    outChannels: number,
    kernel: number | readonly [number, number],
    options: Conv2dLayerOptions = {},
  ) {
    super();
    const { bias = true, ...rest } = options;
    const [height, width] = typeof kernel === 'number' ? [kernel, kernel] : kernel;
    const channels = inChannels / (rest.groups ?? 1);
    const fanIn = channels * height * width;
    this.weight = kaimingUniform([outChannels, channels, height, width], fanIn);
    this.bias = bias ? kaimingUniform([outChannels], fanIn) : null;
    this.options = rest;
  }

  override forward(input: Tensor): Tensor {
    return conv2d(input, this.weight, this.bias, this.options);
  }
}
