/** Batch, layer, group, instance and RMS norm as functions. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { formatSpec, type TensorSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { isTensor } from '../../options/is-tensor.ts';
import { anyOperand, aTensor, flag, orNull } from '../../options/option-kinds.ts';
import { formatShape, type Shape, sameShape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { rsqrt } from '../arithmetic/functions.ts';
import { floating } from '../core/promotion.ts';
import { roundedOnce } from '../core/rounded-once.ts';
import { add_, mul_ } from '../in-place/in-place.ts';
import { reshape } from '../movement/movement.ts';
import { padConstant } from '../movement/place.ts';
import { unfold } from '../movement/windows.ts';
import { minus } from '../numbers/number-arithmetic.ts';
import { pow } from '../pointwise/powers.ts';
import { expectOptional, expectTensors } from '../record/expect-tensors.ts';
import { expectNumber, expectWhole, expectWithin } from '../record/positional.ts';
import { mean } from '../reduce/reduce.ts';
import { expectNormDTypes, normalized, type Standardized, standardize } from './standardize.ts';

interface Affine {
  /** Multiplies the normalized values; one element per channel. */
  readonly weight?: Tensor | null;
  /** Added after the weight is applied. */
  readonly bias?: Tensor | null;
}

function expectTrailing(name: string, x: Tensor, shape: Shape): void {
  const start = x.rank - shape.length;
  if (shape.length > 0 && start >= 0 && sameShape(x.shape.slice(start), shape)) return;
  throw new ShapeError({
    what: `${name}: the layer normalizes ${formatShape(shape)}, and the input doesn't end with that`,
    given: `input ${formatSpec(x)}`,
    expected: `[..., ${shape.join(', ')}]`,
    remedy: 'check the number of features, or transpose the tensor',
  });
}

function overLast(
  name: string,
  x: Tensor,
  shape: number | Shape,
  [weight, bias]: readonly (Tensor | null)[],
  eps: number,
  centered: boolean,
): Tensor {
  expectTensors(name, x);
  for (const parameter of [weight, bias]) expectOptional(name, parameter);
  const sizes = [shape].flat() as number[];
  for (const size of sizes) expectNumber(name, 'shape', size);
  expectNumber(name, 'eps', eps);
  expectTrailing(name, x, sizes);
  const length = sizeOf(sizes);
  const rows = sizeOf(x.shape.slice(0, x.rank - sizes.length));
  const grouping = { view: [rows, length], over: [1], weightShape: [length], eps, centered };
  return normalized(
    x,
    floating(x.dtype),
    (values) => standardize(name, values, weight ?? null, bias ?? null, grouping).out,
  );
}

/**
 * Normalizes the last dimensions, whose sizes are `shape`, to mean 0 and variance 1, then applies `weight` and
 * `bias`, both of that shape.
 */
export function layerNorm(
  x: Tensor,
  shape: number | Shape,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  eps = 1e-5,
): Tensor {
  return overLast('layerNorm', x, shape, [weight, bias], eps, true);
}

/** Divides by the root mean square of the last dimensions; `eps` is float32's machine epsilon by default. */
export function rmsNorm(
  x: Tensor,
  shape: number | Shape,
  weight: Tensor | null = null,
  eps: number | null = null,
): Tensor {
  const epsilon = eps ?? (isTensor(x) && x.dtype === 'float64' ? 2 ** -52 : 2 ** -23);
  return overLast('rmsNorm', x, shape, [weight, null], epsilon, false);
}

/** Returns the spec of the normalized input: integers become float32. */
const normalizedSpec = ({ dtype, shape }: Tensor): TensorSpec => ({
  dtype: floating(dtype),
  shape,
});

function expectChannels(name: string, x: Tensor): number {
  expectTensors(name, x);
  if (x.rank >= 2) return x.shape[1]!;
  throw new ShapeError({
    what: `${name}: no dimension of channels`,
    given: formatSpec(x),
    expected: '[n, channels, …]',
    remedy: 'unsqueeze(0) adds a batch of one',
  });
}

/** Normalizes each of `groups` equal groups of channels of [n, channels, …] to mean 0 and variance 1. */
export function groupNorm(
  x: Tensor,
  groups: number,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  eps = 1e-5,
): Tensor {
  expectOptional('groupNorm', weight);
  expectOptional('groupNorm', bias);
  expectNumber('groupNorm', 'eps', eps);
  expectNumber('groupNorm', 'groups', groups);
  const channels = expectChannels('groupNorm', x);
  if (!Number.isInteger(groups) || groups < 1 || channels % groups !== 0) {
    throw new ArgumentError({
      what: "groupNorm: the channels don't fall into groups",
      given: `${channels} channels in ${groups} groups`,
      expected: 'a number of groups that divides the channels',
      remedy: 'check the number of groups',
    });
  }
  return normalized(
    x,
    floating(x.dtype),
    (converted) =>
      standardize('groupNorm', converted, weight, bias, inGroups(converted, groups, eps)).out,
  );
}

function inGroups(x: Tensor, groups: number, eps: number) {
  const [n, channels] = x.shape as [number, number];
  const perGroup = channels / groups;
  return {
    view: [n, groups, perGroup, sizeOf(x.shape.slice(2))],
    over: [2, 3],
    weightShape: [groups, perGroup, 1],
    eps,
    centered: true,
  };
}

export interface BatchNormOptions extends Affine {
  /** Normalizes by the batch and updates the running values; by default normalizes by the running values. */
  readonly training?: boolean;
  /** The weight of the batch in the new running values. 0.1 by default. */
  readonly momentum?: number;
  readonly eps?: number;
}

/** running = (1 − momentum) · running + momentum · batch; the variance is unbiased. */
function follow(
  { runningMean, runningVar }: { runningMean: Tensor | null; runningVar: Tensor | null },
  { mean: center, variance }: Pick<Standardized, 'mean' | 'variance'>,
  count: number,
  momentum: number,
): void {
  // An empty batch doesn't change the running values.
  if (count === 0) return;
  noGrad(() => {
    if (runningMean) add_(mul_(runningMean, minus(1, momentum)), center, momentum);
    if (!runningVar) return;
    const unbiased = mul(variance, count / Math.max(count - 1, 1));
    add_(mul_(runningVar, minus(1, momentum)), unbiased, momentum);
  });
}

/** Normalizes by given values per channel, with one product and one sum. */
function byRunning(
  x: Tensor,
  center: Tensor,
  variance: Tensor,
  { weight = null, bias = null }: Affine,
  eps: number,
): Tensor {
  const perChannel = (values: Tensor) =>
    reshape(values, [values.numel(), ...x.shape.slice(2).map(() => 1)]);
  const scale = rsqrt(add(variance, eps));
  const slope = weight ? mul(scale, weight) : scale;
  const centered = x.rank === 1 ? sub(x, center) : sub(x, perChannel(center));
  const scaled = mul(centered, x.rank === 1 ? slope : perChannel(slope));
  if (!bias) return scaled;
  return add(scaled, x.rank === 1 ? bias : perChannel(bias));
}

const batchNormOptions = {
  weight: orNull(aTensor),
  bias: orNull(aTensor),
  training: flag,
  momentum: anyOperand,
  eps: anyOperand,
};

/**
 * Normalizes each channel of [n, channels, …] to mean 0 and variance 1 over batch and positions, then applies
 * `weight` and `bias`. In training, updates `runningMean` and `runningVar` in place.
 */
export function batchNorm(
  x: Tensor,
  runningMean: Tensor | null,
  runningVar: Tensor | null,
  options: BatchNormOptions = {},
): Tensor {
  return naming('batchNorm', () => {
    expectTensors('batchNorm', x);
    expectOptional('batchNorm', runningMean);
    expectOptional('batchNorm', runningVar);
    expectOptions('batchNorm', options, batchNormOptions);
    const { weight = null, bias = null, training = false, momentum = 0.1, eps = 1e-5 } = options;
    if (!training) {
      if (runningMean && runningVar) {
        expectNormDTypes('batchNorm', normalizedSpec(x), { runningMean, runningVar, weight, bias });
        return tidy(() =>
          roundedOnce(
            [x, runningMean, runningVar],
            (converted, center, variance) =>
              byRunning(converted, center, variance, { weight, bias }, eps),
            floating(x.dtype),
          ),
        );
      }
      throw new ArgumentError({
        what: 'batchNorm: nothing to normalize by',
        given: 'no running mean and variance, and training is off',
        expected: 'both running values, or training: true',
        remedy: 'pass training: true to normalize by the batch',
      });
    }
    expectNormDTypes('batchNorm', normalizedSpec(x), { runningMean, runningVar });
    const channels = expectChannels('batchNorm', x);
    const count = channels === 0 ? 0 : x.numel() / channels;
    if (count === 1) {
      throw new ShapeError({
        what: 'batchNorm: one value per channel has no variance',
        given: formatSpec(x),
        expected: 'more than one value per channel in training',
        remedy: 'use a larger batch, or training: false',
      });
    }
    return normalized(x, floating(x.dtype), (converted) => {
      const view = [converted.shape[0]!, channels, sizeOf(converted.shape.slice(2))];
      const grouping = { view, over: [0, 2], weightShape: [channels, 1], eps, centered: true };
      const result = standardize('batchNorm', converted, weight, bias, grouping);
      follow({ runningMean, runningVar }, result, count, momentum);
      return result.out;
    });
  });
}

export interface InstanceNormOptions extends Affine {
  readonly runningMean?: Tensor | null;
  readonly runningVar?: Tensor | null;
  /** Normalizes by each instance; otherwise by the running values. True by default. */
  readonly useInputStats?: boolean;
  readonly momentum?: number;
  readonly eps?: number;
}

const instanceNormOptions = {
  weight: orNull(aTensor),
  bias: orNull(aTensor),
  runningMean: orNull(aTensor),
  runningVar: orNull(aTensor),
  useInputStats: flag,
  momentum: anyOperand,
  eps: anyOperand,
};

/** Normalizes each channel of each sample of [n, channels, …] to mean 0 and variance 1. */
export function instanceNorm(x: Tensor, options?: InstanceNormOptions | null): Tensor;
/** `instanceNorm` with positional running values, like `batchNorm`. */
export function instanceNorm(
  x: Tensor,
  runningMean: Tensor | null,
  runningVar: Tensor | null,
  options?: Omit<InstanceNormOptions, 'runningMean' | 'runningVar'> | null,
): Tensor;
export function instanceNorm(
  x: Tensor,
  first?: InstanceNormOptions | Tensor | null,
  second: Tensor | null = null,
  rest: InstanceNormOptions | null = null,
): Tensor {
  return naming('instanceNorm', () => {
    expectTensors('instanceNorm', x);
    expectOptional('instanceNorm', second);
    const byPosition = isTensor(first) || second !== null || rest !== null;
    if (!byPosition) return perInstance(x, (first as InstanceNormOptions | null | undefined) ?? {});
    const runningMean = (first ?? null) as Tensor | null;
    expectOptional('instanceNorm', runningMean);
    return perInstance(x, { ...rest, runningMean, runningVar: second });
  });
}

function perInstance(x: Tensor, options: InstanceNormOptions): Tensor {
  expectOptions('instanceNorm', options, instanceNormOptions);
  const { runningMean = null, runningVar = null, useInputStats = true } = options;
  const { weight = null, bias = null, momentum = 0.1, eps = 1e-5 } = options;
  if (!useInputStats) return batchNorm(x, runningMean, runningVar, { weight, bias, eps });
  expectNormDTypes('instanceNorm', normalizedSpec(x), { runningMean, runningVar });
  const channels = expectChannels('instanceNorm', x);
  return normalized(x, floating(x.dtype), (converted) => {
    const result = standardize(
      'instanceNorm',
      converted,
      weight,
      bias,
      inGroups(converted, channels, eps),
    );
    const perChannel = (values: Tensor) => mean(reshape(values, [x.shape[0]!, channels]), 0);
    if (runningMean || runningVar) {
      const found = noGrad(() => ({
        mean: perChannel(result.mean),
        variance: perChannel(result.variance),
      }));
      follow({ runningMean, runningVar }, found, sizeOf(x.shape.slice(2)), momentum);
    }
    return result.out;
  });
}

/** Divides each channel of [n, channels, …] by a power of the mean square of adjacent channels. */
export function localResponseNorm(
  x: Tensor,
  size: number,
  alpha = 1e-4,
  beta = 0.75,
  k = 1,
): Tensor {
  return naming('localResponseNorm', () => {
    expectChannels('localResponseNorm', x);
    expectWhole('localResponseNorm', 'size', size);
    expectWithin('localResponseNorm', 'size', size, 1);
    for (const [name, value] of Object.entries({ alpha, beta, k })) {
      expectNumber('localResponseNorm', name, value);
    }
    return tidy(() => {
      const around = (count: number) => x.shape.map((_, d) => (d === 1 ? count : 0));
      const half = Math.floor(size / 2);
      const squares = padConstant(mul(x, x), around(half), around(Math.floor((size - 1) / 2)), 0);
      const nearby = mean(unfold(squares, 1, size, 1), -1);
      return div(x, pow(add(mul(nearby, alpha), k), beta));
    });
  });
}
