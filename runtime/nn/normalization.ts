import { noGrad } from '../autograd/grad-mode.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { argumentsOf } from '../functional/arguments-of.ts';
import { cast } from '../ops/core/cast.ts';
import { add_, fill_, mul_ } from '../ops/in-place/in-place.ts';
import { ones, zeros } from '../ops/movement/create.ts';
import { clone, squeeze, unsqueeze } from '../ops/movement/movement.ts';
import {
  batchNorm,
  groupNorm,
  instanceNorm,
  layerNorm,
  localResponseNorm,
  rmsNorm,
} from '../ops/normalization/norms.ts';
import { div, sub } from '../ops/pointwise/pointwise.ts';
import { expectTensors, noTensor } from '../ops/record/expect-tensors.ts';
import { expectSizes } from '../options/expect-arguments.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { isTensor } from '../options/is-tensor.ts';
import { anyNumber, flag, orNull } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';
import { buffer, type Parameter, parameter } from './module/parameter.ts';

export interface RunningNormOptions {
  /** Added to the variance; 1e-5 by default. */
  readonly eps?: number;
  /** Weight of the batch in the new running values, 0.1 by default; null for the mean of all batches. */
  readonly momentum?: number | null;
  /** Whether each channel has a learned weight and bias. */
  readonly affine?: boolean;
  /** Whether a running mean and variance are tracked in training and used in evaluation. */
  readonly trackRunningStats?: boolean;
}

const runningNormKinds: OptionKinds<RunningNormOptions> = {
  eps: anyNumber,
  momentum: orNull(anyNumber),
  affine: flag,
  trackRunningStats: flag,
};

/** Returns the error for an input that doesn't fit a layer with this many channels. */
function unfit(name: string, input: Tensor, channels: number, expected: string): ShapeError {
  const inputChannels = input.shape[1];
  const isOther = inputChannels !== undefined && inputChannels !== channels;
  return new ShapeError({
    what: isOther
      ? `${name}: the layer takes ${channels} channels, not ${inputChannels}`
      : `${name}: the input doesn't fit`,
    given: `input ${formatSpec(input)}`,
    expected,
    remedy: `add the missing dimension with unsqueeze(), or change the sizes given to new nn.${name}`,
  });
}

/** Base of batch and instance normalization: state per channel. */
abstract class RunningNorm extends Module {
  readonly numFeatures: number;
  readonly eps: number;
  readonly momentum: number | null;
  weight: Parameter | null;
  bias: Parameter | null;
  runningMean: Tensor | null;
  runningVar: Tensor | null;
  /** int32 []: the number of forward passes in training. */
  numBatchesTracked: Tensor | null;
  /** Ranks that the input may have. */
  protected abstract readonly ranks: readonly number[];

  constructor(
    numFeatures: number,
    options: RunningNormOptions,
    affine: boolean,
    tracks: boolean,
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes(`nn.${new.target.name}`, { numFeatures });
    expectOptions(new.target.name, options, runningNormKinds);
    this.numFeatures = numFeatures;
    this.eps = options.eps ?? 1e-5;
    this.momentum = options.momentum === undefined ? 0.1 : options.momentum;
    const [learned, tracked] = [options.affine ?? affine, options.trackRunningStats ?? tracks];
    this.weight = learned ? parameter(ones([numFeatures])) : null;
    this.bias = learned ? parameter(zeros([numFeatures])) : null;
    this.runningMean = tracked ? buffer(zeros([numFeatures])) : null;
    this.runningVar = tracked ? buffer(ones([numFeatures])) : null;
    this.numBatchesTracked = tracked ? buffer(zeros([], { dtype: 'int32' })) : null;
  }

  protected expectInput(input: Tensor): void {
    if (!isTensor(input)) throw noTensor(this.constructor.name, input);
    if (this.ranks.includes(input.rank) && input.shape[1] === this.numFeatures) return;
    const dimensions = `${this.ranks.join(' or ')} dimensions, of which the second is ${this.numFeatures}`;
    throw unfit(this.constructor.name, input, this.numFeatures, dimensions);
  }

  /**
   * Calls `body` with the running values to update and the weight of the batch in them. For the mean of all batches,
   * `body` gets copies instead, because the weight depends on a count that is in a tensor.
   */
  protected following(
    body: (center: Tensor | null, variance: Tensor | null, momentum: number) => Tensor,
  ): Tensor {
    const { runningMean, runningVar, numBatchesTracked: count } = this;
    if (!this.training || !runningMean || !runningVar || !count) {
      return body(runningMean, runningVar, this.momentum ?? 0);
    }
    noGrad(() => void add_(count, 1));
    if (this.momentum !== null) return body(runningMean, runningVar, this.momentum);
    const [center, variance] = noGrad(() => [clone(runningMean), clone(runningVar)]);
    const output = body(center, variance, 1);
    noGrad(() => {
      const total = cast(count, runningMean.dtype);
      add_(runningMean, div(sub(center, runningMean), total));
      add_(runningVar, div(sub(variance, runningVar), total));
    });
    return output;
  }

  /** Resets the running values. */
  resetRunningStats(): void {
    noGrad(() => {
      if (this.runningMean) mul_(this.runningMean, 0);
      if (this.runningVar) fill_(this.runningVar, 1);
      if (this.numBatchesTracked) fill_(this.numBatchesTracked, 0);
    });
  }
}

/** Batch normalization (Ioffe and Szegedy): per channel, over the batch and all positions. */
abstract class BatchNorm extends RunningNorm {
  constructor(numFeatures: number, options: RunningNormOptions = {}, ...surplus: []) {
    super(numFeatures, options, true, true, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    this.expectInput(input);
    const { weight, bias, eps } = this;
    return tidy(() =>
      this.following((center, variance, momentum) => {
        const training = this.training || center === null;
        return batchNorm(input, center, variance, { weight, bias, eps, momentum, training });
      }),
    );
  }
}

/** Batch normalization of [n, c] or [n, c, length]. */
export class BatchNorm1d extends BatchNorm {
  protected override readonly ranks: readonly number[] = [2, 3];
}

/** Batch normalization of [n, c, h, w]. */
export class BatchNorm2d extends BatchNorm {
  protected override readonly ranks: readonly number[] = [4];
}

/** Batch normalization of [n, c, d, h, w]. */
export class BatchNorm3d extends BatchNorm {
  protected override readonly ranks: readonly number[] = [5];
}

/** Normalizes each channel of each sample. By default without parameters or running statistics. */
abstract class InstanceNorm extends RunningNorm {
  constructor(numFeatures: number, options: RunningNormOptions = {}, ...surplus: []) {
    super(numFeatures, options, false, false, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    if (isTensor(input) && input.rank === this.ranks[0]! - 1) {
      return tidy(() => squeeze(this.forward(unsqueeze(input, 0)), 0));
    }
    this.expectInput(input);
    const { weight, bias, eps, runningMean, runningVar } = this;
    const useInputStats = this.training || runningMean === null;
    // As in PyTorch, batches are not counted, and without a momentum nothing is averaged.
    const momentum = this.momentum ?? 0;
    const running = { runningMean, runningVar, useInputStats, momentum };
    return instanceNorm(input, { ...running, weight, bias, eps });
  }
}

/** Instance normalization of [n, c, length] or [c, length]. */
export class InstanceNorm1d extends InstanceNorm {
  protected override readonly ranks: readonly number[] = [3];
}

/** Instance normalization of [n, c, h, w] or [c, h, w]. */
export class InstanceNorm2d extends InstanceNorm {
  protected override readonly ranks: readonly number[] = [4];
}

/** Instance normalization of [n, c, d, h, w] or [c, d, h, w]. */
export class InstanceNorm3d extends InstanceNorm {
  protected override readonly ranks: readonly number[] = [5];
}

export interface GroupNormOptions {
  /** 1e-5 by default. */
  readonly eps?: number;
  /** Learned weight and bias per channel; true by default. */
  readonly affine?: boolean;
}

const groupNormKinds: OptionKinds<GroupNormOptions> = { eps: anyNumber, affine: flag };

/** Group normalization (Wu and He): over groups of channels of [n, c, …]. */
export class GroupNorm extends Module {
  readonly numGroups: number;
  readonly eps: number;
  weight: Parameter | null;
  bias: Parameter | null;

  constructor(
    numGroups: number,
    numChannels: number,
    options: GroupNormOptions = {},
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes('nn.GroupNorm', { numGroups, numChannels });
    expectOptions('GroupNorm', options, groupNormKinds);
    this.numGroups = numGroups;
    this.eps = options.eps ?? 1e-5;
    const affine = options.affine ?? true;
    this.weight = affine ? parameter(ones([numChannels])) : null;
    this.bias = affine ? parameter(zeros([numChannels])) : null;
  }

  override forward(input: Tensor): Tensor {
    expectTensors('GroupNorm', input);
    const channels = this.weight?.shape[0];
    if (channels !== undefined && input.shape[1] !== channels) {
      throw unfit('GroupNorm', input, channels, `[n, ${channels}, …]`);
    }
    return groupNorm(input, this.numGroups, this.weight, this.bias, this.eps);
  }
}

/** Returns the sizes of the last dimensions that the layer normalizes. */
function normalized(layer: string, shape: number | Shape): Shape {
  const sizes = Array.isArray(shape) ? (shape as Shape) : [shape as number];
  for (const size of sizes) expectSizes(`nn.${layer}`, { shape: size });
  return sizes;
}

export interface LayerNormOptions {
  /** 1e-5 by default. */
  readonly eps?: number;
  /** Learned weight and bias per element; true by default. */
  readonly elementwiseAffine?: boolean;
  /** Whether there is a bias besides the weight; true by default. */
  readonly bias?: boolean;
}

const layerNormKinds: OptionKinds<LayerNormOptions> = {
  eps: anyNumber,
  elementwiseAffine: flag,
  bias: flag,
};

/** Layer normalization (Ba, Kiros and Hinton) over the last dimensions, whose sizes are `shape`. */
export class LayerNorm extends Module {
  readonly shape: Shape;
  readonly eps: number;
  weight: Parameter | null;
  bias: Parameter | null;

  constructor(shape: number | Shape, options: LayerNormOptions = {}, ...surplus: []) {
    super(...surplus);
    expectOptions('LayerNorm', options, layerNormKinds);
    this.shape = normalized('LayerNorm', shape);
    this.eps = options.eps ?? 1e-5;
    const affine = options.elementwiseAffine ?? true;
    this.weight = affine ? parameter(ones(this.shape)) : null;
    this.bias = affine && (options.bias ?? true) ? parameter(zeros(this.shape)) : null;
  }

  override forward(input: Tensor): Tensor {
    return layerNorm(input, this.shape, this.weight, this.bias, this.eps);
  }
}

export interface RMSNormOptions {
  /** By default the machine epsilon: of float64 for float64 inputs, else of float32. */
  readonly eps?: number | null;
  /** Whether the layer has a weight; true by default. */
  readonly elementwiseAffine?: boolean;
}

const rmsNormKinds: OptionKinds<RMSNormOptions> = {
  eps: orNull(anyNumber),
  elementwiseAffine: flag,
};

/** Divides by the root mean square of the last dimensions (Zhang and Sennrich). */
export class RMSNorm extends Module {
  readonly shape: Shape;
  readonly eps: number | null;
  weight: Parameter | null;

  constructor(shape: number | Shape, options: RMSNormOptions = {}, ...surplus: []) {
    super(...surplus);
    expectOptions('RMSNorm', options, rmsNormKinds);
    this.shape = normalized('RMSNorm', shape);
    this.eps = options.eps ?? null;
    this.weight = (options.elementwiseAffine ?? true) ? parameter(ones(this.shape)) : null;
  }

  override forward(input: Tensor): Tensor {
    return rmsNorm(input, this.shape, this.weight, this.eps);
  }
}

/** Divides by the squares of nearby channels (Krizhevsky et al.). */
export class LocalResponseNorm extends Module {
  readonly size: number;
  readonly alpha: number;
  readonly beta: number;
  readonly k: number;

  constructor(
    size: number,
    first: number | { readonly alpha?: number; readonly beta?: number; readonly k?: number } = 1e-4,
    second?: number,
    third?: number,
    ...surplus: []
  ) {
    super(...surplus);
    const kinds = { alpha: anyNumber, beta: anyNumber, k: anyNumber };
    const settings = argumentsOf('LocalResponseNorm', kinds, first, second, third);
    const { alpha = 1e-4, beta = 0.75, k = 1 } = settings;
    this.size = size;
    this.alpha = alpha;
    this.beta = beta;
    this.k = k;
  }

  override forward(input: Tensor): Tensor {
    return localResponseNorm(input, this.size, this.alpha, this.beta, this.k);
  }
}
