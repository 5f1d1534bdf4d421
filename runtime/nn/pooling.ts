/** Pooling: one value per window. The default stride is the window size. */

import {
  type LPPoolOptions,
  lpKinds,
  lpPool1d,
  lpPool2d,
  lpPool3d,
} from '../functional/lp-pooling.ts';
import {
  type MaxUnpoolOptions,
  maxUnpool1d,
  maxUnpool2d,
  maxUnpool3d,
} from '../functional/max-unpool.ts';
import { adaptiveMaxPool3d, maxPool3d } from '../functional/pooling-3d.ts';
import {
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  type MaxPoolOptions,
  maxPool1d,
  maxPool2d,
} from '../ops/convolution/max-pool.ts';
import {
  type AvgPoolOptions,
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  avgPool1d,
  avgPool2d,
  avgPool3d,
} from '../ops/convolution/resample.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, count, flag, orNull, perDimension } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

type Pair = readonly [number, number];
type Triple = readonly [number, number, number];

const windowKinds = {
  stride: perDimension(count(1)),
  padding: perDimension(count(0)),
  ceilMode: flag,
};
const maxKinds = { ...windowKinds, dilation: perDimension(count(1)), returnIndices: flag };
const averageKinds = { ...windowKinds, countIncludePad: flag, divisorOverride: orNull(anyNumber) };

/** Base of pooling: a window size and options. */
abstract class Pool<Size, Options extends object> extends Module {
  readonly kernel: Size;
  readonly options: Options;

  constructor(kernel: Size, options: Options, kinds: OptionKinds<Options>, ...surplus: []) {
    super(...surplus);
    expectOptions(new.target.name, options, kinds);
    this.kernel = kernel;
    this.options = options;
  }
}

type MaxOptions<Size, Both extends boolean> = MaxPoolOptions<Size> & {
  readonly returnIndices?: Both;
};

/** Maxima, or with `returnIndices` `[maxima, int32 positions]`. */
type Maxima<Both extends boolean> = Both extends true ? [Tensor, Tensor] : Tensor;

/** The maximum of each window. */
abstract class MaxPool<Size, Both extends boolean> extends Pool<Size, MaxOptions<Size, Both>> {
  constructor(kernel: Size, options: MaxOptions<Size, Both> = {}, ...surplus: []) {
    super(kernel, options, maxKinds, ...surplus);
  }
}

/** The maximum of each window: [n, c, length] → [n, c, length']. */
export class MaxPool1d<Both extends boolean = false> extends MaxPool<number, Both> {
  override forward(input: Tensor): Maxima<Both> {
    return maxPool1d(input, this.kernel, this.options as object) as Maxima<Both>;
  }
}

/** The maximum of each window: [n, c, h, w] → [n, c, h', w']. */
export class MaxPool2d<Both extends boolean = false> extends MaxPool<number | Pair, Both> {
  override forward(input: Tensor): Maxima<Both> {
    return maxPool2d(input, this.kernel, this.options as object) as Maxima<Both>;
  }
}

/** The maximum of each window: [n, c, d, h, w] → [n, c, d', h', w']. */
export class MaxPool3d<Both extends boolean = false> extends MaxPool<number | Triple, Both> {
  override forward(input: Tensor): Maxima<Both> {
    return maxPool3d(input, this.kernel, this.options as object) as Maxima<Both>;
  }
}

/** The mean of each window. */
abstract class AvgPool<Size> extends Pool<Size, AvgPoolOptions<Size>> {
  constructor(kernel: Size, options: AvgPoolOptions<Size> = {}, ...surplus: []) {
    super(kernel, options, averageKinds, ...surplus);
  }
}

/** The mean of each window of [n, c, length]. */
export class AvgPool1d extends AvgPool<number> {
  override forward(input: Tensor): Tensor {
    return avgPool1d(input, this.kernel, this.options);
  }
}

/** The mean of each window of [n, c, h, w]. */
export class AvgPool2d extends AvgPool<number | Pair> {
  override forward(input: Tensor): Tensor {
    return avgPool2d(input, this.kernel, this.options);
  }
}

/** The mean of each window of [n, c, d, h, w]. */
export class AvgPool3d extends AvgPool<number | Triple> {
  override forward(input: Tensor): Tensor {
    return avgPool3d(input, this.kernel, this.options);
  }
}

/** The root of the sum of powers of each window. */
abstract class LPPool<Size> extends Pool<Size, LPPoolOptions<Size>> {
  readonly p: number;

  constructor(p: number, kernel: Size, options: LPPoolOptions<Size> = {}, ...surplus: []) {
    super(kernel, options, lpKinds as OptionKinds<LPPoolOptions<Size>>, ...surplus);
    this.p = p;
  }
}

/** The root of the sum of powers of each window of [n, c, length]. */
export class LPPool1d extends LPPool<number> {
  override forward(input: Tensor): Tensor {
    return lpPool1d(input, this.p, this.kernel, this.options);
  }
}

/** The root of the sum of powers of each window of [n, c, h, w]. */
export class LPPool2d extends LPPool<number | Pair> {
  override forward(input: Tensor): Tensor {
    return lpPool2d(input, this.p, this.kernel, this.options);
  }
}

/** The root of the sum of powers of each window of [n, c, d, h, w]. */
export class LPPool3d extends LPPool<number | Triple> {
  override forward(input: Tensor): Tensor {
    return lpPool3d(input, this.p, this.kernel, this.options);
  }
}

/** Pools to the output size `size`; null keeps the input's size. */
abstract class AdaptivePool<Size> extends Module {
  readonly size: Size;

  constructor(size: Size, ...surplus: []) {
    super(...surplus);
    this.size = size;
  }
}

type Size2d = number | readonly [number | null, number | null];
type Size3d = number | readonly [number | null, number | null, number | null];

/** Means: [n, c, length] → [n, c, size]. */
export class AdaptiveAvgPool1d extends AdaptivePool<number> {
  override forward(input: Tensor): Tensor {
    return adaptiveAvgPool1d(input, this.size);
  }
}

/** Means: [n, c, h, w] → [n, c, …size]. */
export class AdaptiveAvgPool2d extends AdaptivePool<Size2d> {
  override forward(input: Tensor): Tensor {
    return adaptiveAvgPool2d(input, this.size);
  }
}

/** Means: [n, c, d, h, w] → [n, c, …size]. */
export class AdaptiveAvgPool3d extends AdaptivePool<Size3d> {
  override forward(input: Tensor): Tensor {
    return adaptiveAvgPool3d(input, this.size);
  }
}

interface AdaptiveMaxOptions<Both extends boolean> {
  readonly returnIndices?: Both;
}

/** The maxima of equal parts. */
abstract class AdaptiveMaxPool<Size, Both extends boolean> extends AdaptivePool<Size> {
  readonly options: AdaptiveMaxOptions<Both>;

  constructor(size: Size, options: AdaptiveMaxOptions<Both> = {}, ...surplus: []) {
    super(size, ...surplus);
    expectOptions(new.target.name, options, { returnIndices: flag });
    this.options = options;
  }
}

/** Maxima: [n, c, length] → [n, c, size]. */
export class AdaptiveMaxPool1d<Both extends boolean = false> extends AdaptiveMaxPool<number, Both> {
  override forward(input: Tensor): Maxima<Both> {
    return adaptiveMaxPool1d(input, this.size, this.options as object) as Maxima<Both>;
  }
}

/** Maxima: [n, c, h, w] → [n, c, …size]. */
export class AdaptiveMaxPool2d<Both extends boolean = false> extends AdaptiveMaxPool<Size2d, Both> {
  override forward(input: Tensor): Maxima<Both> {
    return adaptiveMaxPool2d(input, this.size, this.options as object) as Maxima<Both>;
  }
}

/** Maxima: [n, c, d, h, w] → [n, c, …size]. */
export class AdaptiveMaxPool3d<Both extends boolean = false> extends AdaptiveMaxPool<Size3d, Both> {
  override forward(input: Tensor): Maxima<Both> {
    return adaptiveMaxPool3d(input, this.size, this.options as object) as Maxima<Both>;
  }
}

type UnpoolOptions<Size> = Omit<MaxUnpoolOptions<Size>, 'outputSize'>;

const unpoolKinds = { stride: orNull(perDimension(count(1))), padding: perDimension(count(0)) };

/** Places values at the positions of a pooling's maxima, with zeros elsewhere. */
abstract class MaxUnpool<Size> extends Pool<Size, UnpoolOptions<Size>> {
  constructor(kernel: Size, options: UnpoolOptions<Size> = {}, ...surplus: []) {
    super(kernel, options, unpoolKinds, ...surplus);
  }
}

/** Partial inverse of MaxPool1d: values and positions [n, c, length] → [n, c, length']. */
export class MaxUnpool1d extends MaxUnpool<number> {
  override forward(
    input: Tensor,
    indices: Tensor,
    outputSize: readonly number[] | null = null,
  ): Tensor {
    return maxUnpool1d(input, indices, this.kernel, { ...this.options, outputSize });
  }
}

/** Partial inverse of MaxPool2d: values and positions [n, c, h, w] → [n, c, h', w']. */
export class MaxUnpool2d extends MaxUnpool<number | Pair> {
  override forward(
    input: Tensor,
    indices: Tensor,
    outputSize: readonly number[] | null = null,
  ): Tensor {
    return maxUnpool2d(input, indices, this.kernel, { ...this.options, outputSize });
  }
}

/** Partial inverse of MaxPool3d: values and positions [n, c, d, h, w] → [n, c, d', h', w']. */
export class MaxUnpool3d extends MaxUnpool<number | Triple> {
  override forward(
    input: Tensor,
    indices: Tensor,
    outputSize: readonly number[] | null = null,
  ): Tensor {
    return maxUnpool3d(input, indices, this.kernel, { ...this.options, outputSize });
  }
}
