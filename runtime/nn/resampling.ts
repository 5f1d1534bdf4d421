/** Resampling, and conversion between images and columns of windows. */

import {
  type InterpolateOptions,
  interpolate,
  interpolationModes,
} from '../ops/convolution/resample.ts';
import { col2im, im2col, type UnfoldOptions } from '../ops/movement/windows.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { count, flag, oneOf, perDimension, positive } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

type Pair = readonly [number, number];

const upsampleKinds: OptionKinds<InterpolateOptions> = {
  size: perDimension(count(1)),
  scaleFactor: perDimension(positive),
  mode: oneOf(...interpolationModes),
  alignCorners: flag,
  recomputeScaleFactor: flag,
};

const windowKinds: OptionKinds<UnfoldOptions> = {
  dilation: perDimension(count(1)),
  padding: perDimension(count(0)),
  stride: perDimension(count(1)),
};

/** Resizes [n, c, …] to a size or by a factor; `nearest` by default. */
export class Upsample extends Module {
  readonly options: InterpolateOptions;

  constructor(options: InterpolateOptions, ...surplus: []) {
    super(...surplus);
    expectOptions(new.target.name, options, upsampleKinds);
    this.options = options;
  }

  override forward(input: Tensor): Tensor {
    return interpolate(input, this.options);
  }
}

/** Upsampling of [n, c, h, w] that repeats the nearest pixel. */
export class UpsamplingNearest2d extends Upsample {
  constructor(options: Pick<InterpolateOptions, 'size' | 'scaleFactor'>, ...surplus: []) {
    super({ ...options, mode: 'nearest' }, ...surplus);
  }
}

/** Bilinear upsampling with aligned corners. */
export class UpsamplingBilinear2d extends Upsample {
  constructor(options: Pick<InterpolateOptions, 'size' | 'scaleFactor'>, ...surplus: []) {
    super({ ...options, mode: 'bilinear', alignCorners: true }, ...surplus);
  }
}

/** Extracts windows as columns: [n, c, h, w] → [n, c · kh · kw, windows]. */
export class Unfold extends Module {
  readonly kernel: number | Pair;
  readonly options: UnfoldOptions;

  constructor(kernel: number | Pair, options: UnfoldOptions = {}, ...surplus: []) {
    super(...surplus);
    expectOptions('Unfold', options, windowKinds);
    this.kernel = kernel;
    this.options = options;
  }

  override forward(input: Tensor): Tensor {
    return im2col(input, this.kernel, this.options);
  }
}

/** Sums columns into an image where their windows overlap: the adjoint of Unfold. */
export class Fold extends Module {
  readonly size: number | Pair;
  readonly kernel: number | Pair;
  readonly options: UnfoldOptions;

  constructor(
    size: number | Pair,
    kernel: number | Pair,
    options: UnfoldOptions = {},
    ...surplus: []
  ) {
    super(...surplus);
    expectOptions('Fold', options, windowKinds);
    this.size = size;
    this.kernel = kernel;
    this.options = options;
  }

  override forward(input: Tensor): Tensor {
    return col2im(input, this.size, this.kernel, this.options);
  }
}
