import { type Conv2dOptions, conv2d, maxPool2d, type Pool2dOptions } from '../ops/conv.ts';
import { linear } from '../ops/matmul.ts';
import { flatten } from '../ops/movement.ts';
import { relu } from '../ops/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { kaimingUniform, type Parameter } from './parameter.ts';

/** A module from one tensor to one tensor. */
export interface Layer extends Module {
  forward(input: Tensor): Tensor;
}

export interface LinearOptions {
  /** True when left out. */
  readonly bias?: boolean;
}

/** `x · weightᵀ + bias`: [..., in] → [..., out]; weight [out, in], bias [out]. */
export class Linear extends Module {
  weight: Parameter;
  bias: Parameter | null;

  constructor(inFeatures: number, outFeatures: number, options: LinearOptions = {}) {
    super();
    this.weight = kaimingUniform([outFeatures, inFeatures], inFeatures);
    this.bias = (options.bias ?? true) ? kaimingUniform([outFeatures], inFeatures) : null;
  }

  override forward(input: Tensor): Tensor {
    return linear(input, this.weight, this.bias);
  }
}

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

/** max(x, 0), any shape. */
export class ReLU extends Module {
  override forward(input: Tensor): Tensor {
    return relu(input);
  }
}

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

/** [n, a, b, …] → [n, a·b·…]; dimensions before `startDim` (1) stay. */
export class Flatten extends Module {
  readonly startDim: number;

  constructor(startDim = 1) {
    super();
    this.startDim = startDim;
  }

  override forward(input: Tensor): Tensor {
    return flatten(input, this.startDim);
  }
}

/** Its layers one after the other. */
export class Sequential extends Module {
  readonly layers: readonly Layer[];

  constructor(...layers: Layer[]) {
    super();
    this.layers = layers;
  }

  override forward(input: Tensor): Tensor {
    let output = input;
    for (const layer of this.layers) output = layer.forward(output);
    return output;
  }
}
