/** Modules that only rearrange their input. */

import { argumentsOf } from '../functional/arguments-of.ts';
import { pixelShuffle, pixelUnshuffle } from '../ops/convolution/resample.ts';
import { clone, flatten, permute, reshape } from '../ops/movement/movement.ts';
import { unflatten } from '../ops/movement/views.ts';
import { shapeOf } from '../ops/record/expect-tensors.ts';
import { expectSizes } from '../options/expect-arguments.ts';
import { anyInteger } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

/** Returns its input. */
export class Identity extends Module {
  override forward(input: Tensor): Tensor {
    return input;
  }
}

/** Merges the dimensions from `startDim` (1) to `endDim` (the last): [n, a, b, …] → [n, a·b·…]. */
export class Flatten extends Module {
  readonly startDim: number;
  readonly endDim: number;

  constructor(
    first: number | { readonly startDim?: number; readonly endDim?: number } = 1,
    second?: number,
    ...surplus: []
  ) {
    super(...surplus);
    const kinds = { startDim: anyInteger, endDim: anyInteger };
    const { startDim = 1, endDim = -1 } = argumentsOf('Flatten', kinds, first, second);
    this.startDim = startDim;
    this.endDim = endDim;
  }

  override forward(input: Tensor): Tensor {
    return flatten(input, this.startDim, this.endDim);
  }
}

/** Splits one dimension into the given sizes; one of them may be −1. */
export class Unflatten extends Module {
  readonly dim: number;
  readonly sizes: Shape;

  constructor(dim: number, sizes: Shape, ...surplus: []) {
    super(...surplus);
    this.dim = dim;
    this.sizes = sizes;
  }

  override forward(input: Tensor): Tensor {
    return unflatten(input, this.dim, this.sizes);
  }
}

/** Moves channels into pixels: [n, c·r², h, w] → [n, c, h·r, w·r]; also without n. */
export class PixelShuffle extends Module {
  readonly factor: number;

  constructor(factor: number, ...surplus: []) {
    super(...surplus);
    expectSizes('nn.PixelShuffle', { factor });
    this.factor = factor;
  }

  override forward(input: Tensor): Tensor {
    return pixelShuffle(input, this.factor);
  }
}

/** Moves pixels into channels: [n, c, h·r, w·r] → [n, c·r², h, w]; also without n. */
export class PixelUnshuffle extends Module {
  readonly factor: number;

  constructor(factor: number, ...surplus: []) {
    super(...surplus);
    expectSizes('nn.PixelUnshuffle', { factor });
    this.factor = factor;
  }

  override forward(input: Tensor): Tensor {
    return pixelUnshuffle(input, this.factor);
  }
}

/** Interleaves the channels of `groups` groups: [n, g·c, …] is read as [n, g, c, …] and written as [n, c, g, …]. */
export class ChannelShuffle extends Module {
  readonly groups: number;

  constructor(groups: number, ...surplus: []) {
    super(...surplus);
    expectSizes('nn.ChannelShuffle', { groups });
    this.groups = groups;
  }

  override forward(input: Tensor): Tensor {
    const [n, channels, ...spatial] = shapeOf('ChannelShuffle', input) as [
      number,
      number,
      ...number[],
    ];
    return tidy(() => {
      const parts = reshape(input, [n, this.groups, channels / this.groups, ...spatial]);
      const rest = spatial.map((_, i) => i + 3);
      return reshape(clone(permute(parts, [0, 2, 1, ...rest])), input.shape);
    });
  }
}
