/** Initializers, by PyTorch's names: they overwrite a tensor in place and return it. */

import { noGrad } from '../autograd/grad-mode.ts';
import { deviceGuard } from '../device/current.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { assertNever } from '../errors/invariant.ts';
import { argumentsOf } from '../functional/arguments-of.ts';
import { add_, copy_, fill_, mul_ } from '../ops/in-place/in-place.ts';
import { clamp } from '../ops/pointwise/pointwise.ts';
import { erfinv } from '../ops/pointwise/special.ts';
import { rand, randn } from '../ops/random/drawn.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectWithin } from '../ops/record/positional.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, oneOf } from '../options/option-kinds.ts';
import { sizeOf } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { normalShare } from './normal-distribution.ts';

export { dirac_, eye_, orthogonal_, sparse_ } from './init-structure.ts';

export type FanMode = 'fanIn' | 'fanOut';
const nonlinearities = [
  'linear',
  'conv2d',
  'sigmoid',
  'tanh',
  'relu',
  'leakyRelu',
  'selu',
] as const;
export type Nonlinearity = (typeof nonlinearities)[number];

function overwritten(target: Tensor, values: () => Tensor): Tensor {
  noGrad(() => tidy(() => void copy_(target, deviceGuard(target.device, values))));
  return target;
}

/** Fills with one number. */
export function constant_(target: Tensor, value: number): Tensor {
  noGrad(() => void fill_(target, value));
  return target;
}

/** Fills with 0. */
export const zeros_ = (target: Tensor): Tensor => constant_(target, 0);
/** Fills with 1. */
export const ones_ = (target: Tensor): Tensor => constant_(target, 1);

/** The bounds of a draw. */
interface Bounds {
  readonly a?: number;
  readonly b?: number;
}

const boundKinds = { a: anyNumber, b: anyNumber };

/** Fills with uniform numbers in [a, b): `uniform_(w, -1, 1)`, or `uniform_(w, { a: -1 })`. */
export function uniform_(target: Tensor, a: number | Bounds = 0, b?: number): Tensor {
  expectTensors('uniform_', target);
  const { a: low = 0, b: high = 1 } = argumentsOf('uniform_', boundKinds, a, b);
  expectWithin('uniform_', 'b', high, low);
  return overwritten(target, () => add_(mul_(rand(target.shape), high - low), low));
}

/** The mean and the standard deviation of a draw. */
interface Moments {
  readonly mean?: number;
  readonly std?: number;
}

const normalKinds = { mean: anyNumber, std: anyNumber };

/** Fills with normal numbers: `normal_(w, 0, 0.02)`, or `normal_(w, { std: 0.02 })`. */
export function normal_(target: Tensor, mean: number | Moments = 0, std?: number): Tensor {
  expectTensors('normal_', target);
  const { mean: center = 0, std: spread = 1 } = argumentsOf('normal_', normalKinds, mean, std);
  expectWithin('normal_', 'std', spread);
  return overwritten(target, () => add_(mul_(randn(target.shape), spread), center));
}

const truncNormalKinds = { ...normalKinds, ...boundKinds };

/**
 * Fills with normal numbers truncated to [a, b], drawn by inverting the CDF: `truncNormal_(w, 0, 0.02)`, or
 * `truncNormal_(w, { std: 0.02 })`.
 */
export function truncNormal_(
  target: Tensor,
  mean: number | (Moments & Bounds) = 0,
  std?: number,
  a?: number,
  b?: number,
): Tensor {
  expectTensors('truncNormal_', target);
  const {
    mean: center = 0,
    std: spread = 1,
    a: low = -2,
    b: high = 2,
  } = argumentsOf('truncNormal_', truncNormalKinds, mean, std, a, b);
  if (!(low < high && spread > 0)) {
    throw new ArgumentError({
      what: 'truncNormal_: nothing to draw from',
      given: `std ${spread}, from ${low} to ${high}`,
      expected: 'std above 0, and a lower bound below the upper one',
      remedy: 'pass the bounds in the unit of the values: truncNormal_(w, 0, 0.02, -0.04, 0.04)',
    });
  }
  const [from, to] = [normalShare((low - center) / spread), normalShare((high - center) / spread)];
  return overwritten(target, () => {
    const shares = add_(mul_(rand(target.shape), 2 * (to - from)), 2 * from - 1);
    const values = add_(mul_(erfinv(shares), spread * Math.SQRT2), center);
    return clamp(values, low, high);
  });
}

/** A factor of the standard deviation. */
interface Gain {
  readonly gain?: number;
}

const gainKind = { gain: anyNumber };

/** Glorot and Bengio: uniform, variance 2 / (fanIn + fanOut). */
export function xavierUniform_(target: Tensor, gain: number | Gain = 1): Tensor {
  const bound = Math.sqrt(3) * xavierStd('xavierUniform_', target, gain);
  return uniform_(target, -bound, bound);
}

/** Glorot and Bengio: normal, variance gain² · 2 / (fanIn + fanOut). */
export function xavierNormal_(target: Tensor, gain: number | Gain = 1): Tensor {
  return normal_(target, 0, xavierStd('xavierNormal_', target, gain));
}

function xavierStd(use: string, target: Tensor, gainOrOptions: number | Gain): number {
  expectTensors(use, target);
  const { gain = 1 } = argumentsOf(use, gainKind, gainOrOptions);
  const { fanIn, fanOut } = fans(use, target);
  return gain * Math.sqrt(2 / (fanIn + fanOut));
}

export interface KaimingOptions {
  /** Negative slope of the leaky ReLU that follows the layer; 0 by default. */
  readonly slope?: number;
  /** PyTorch's name for `slope`. */
  readonly a?: number;
  /** The pass whose variance is preserved: forward (`fanIn`, the default) or backward (`fanOut`). */
  readonly mode?: FanMode;
  readonly nonlinearity?: Nonlinearity;
}

const kaimingKinds: OptionKinds<KaimingOptions> = {
  slope: anyNumber,
  a: anyNumber,
  mode: oneOf('fanIn', 'fanOut'),
  nonlinearity: oneOf(...nonlinearities),
};

function kaimingStd(use: string, target: Tensor, options: KaimingOptions): number {
  expectTensors(use, target);
  expectOptions(use, options, kaimingKinds);
  const { a = 0, slope = a, mode = 'fanIn', nonlinearity = 'leakyRelu' } = options;
  return calculateGain(nonlinearity, slope) / Math.sqrt(fans(use, target)[mode]);
}

/** He et al.: uniform, variance gain² / fan. */
export function kaimingUniform_(target: Tensor, options: KaimingOptions = {}): Tensor {
  const bound = Math.sqrt(3) * kaimingStd('kaimingUniform_', target, options);
  return uniform_(target, -bound, bound);
}

/** He et al.: normal, variance gain² / fan. */
export function kaimingNormal_(target: Tensor, options: KaimingOptions = {}): Tensor {
  return normal_(target, 0, kaimingStd('kaimingNormal_', target, options));
}

const gainKinds = { nonlinearity: kaimingKinds.nonlinearity, slope: anyNumber };

/** Returns the recommended gain of a layer's weights for the activation that follows it. */
export function calculateGain(nonlinearity: Nonlinearity, slope = 0.01): number {
  expectArguments('calculateGain', { nonlinearity, slope }, gainKinds);
  switch (nonlinearity) {
    case 'tanh':
      return 5 / 3;
    case 'relu':
      return Math.SQRT2;
    case 'leakyRelu':
      return Math.sqrt(2 / (1 + slope * slope));
    case 'selu':
      return 3 / 4;
    case 'linear':
    case 'conv2d':
    case 'sigmoid':
      return 1;
    default:
      return assertNever(nonlinearity, 'nonlinearity');
  }
}

/** Returns fan-in and fan-out of a weight [out, in, …]. */
function fans(use: string, { shape, dtype }: Tensor): Record<FanMode, number> {
  if (shape.length < 2) {
    throw new ShapeError({
      what: `${use}: the tensor has no inputs and outputs`,
      given: formatSpec({ shape, dtype }),
      expected: '[out, in] or [out, in, …kernel]',
      remedy: 'use uniform_, normal_ or zeros_ for biases',
    });
  }
  const field = sizeOf(shape.slice(2));
  return { fanIn: shape[1]! * field, fanOut: shape[0]! * field };
}
