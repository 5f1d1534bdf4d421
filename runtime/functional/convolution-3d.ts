/** 3-d convolution and max pooling of [n, c, d, h, w] or [c, d, h, w], computed with the 2-d ops. */

import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { index } from '../ops/advanced-indexing/advanced-index.ts';
import { pad } from '../ops/arranging/padding.ts';
import { conv2d } from '../ops/convolution/conv.ts';
import { type ConvOptions, convKinds } from '../ops/convolution/convolution-options.ts';
import { type MaxPoolOptions, maxPool2d } from '../ops/convolution/max-pool.ts';
import { permute, reshape, squeeze, unsqueeze } from '../ops/movement/movement.ts';
import { unfold } from '../ops/movement/windows.ts';
import { expectOptional, expectTensors } from '../ops/record/expect-tensors.ts';
import { expectNoStride } from '../options/expect-arguments.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { count, flag, perDimension } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

type Triple = readonly [number, number, number];
export type Conv3dOptions = ConvOptions<number | Triple>;
export type MaxPool3dOptions = Omit<MaxPoolOptions<number | Triple>, 'returnIndices'>;

const tripleOf = (value: number | Triple): Triple =>
  typeof value === 'number' ? [value, value, value] : value;

const kernelKinds = { kernel: perDimension(count(1)) };

function expectFit(x: Tensor, weight: Tensor, groups: number): void {
  const [out = 0, channels = 0] = weight.shape;
  const fits = weight.rank === 5 && (x.rank === 4 || x.rank === 5);
  if (fits && x.shape.at(-4) === channels * groups && out % groups === 0) return;
  throw new ShapeError({
    what: "conv3d: input and weight don't fit",
    given: `input ${formatSpec(x)} for a weight ${formatSpec(weight)}, ${groups} group(s)`,
    expected:
      '[n, c, d, h, w] or [c, d, h, w] with weight [o, c / groups, kd, kh, kw], o divisible by groups',
    remedy:
      'check the order of the dimensions, or the sizes given to new nn.Conv3d(in, out, kernel)',
  });
}

/**
 * Cross-correlation: [n, c, d, h, w] → [n, o, d', h', w'], weight [o, c / groups, kd, kh, kw], bias [o]. The
 * planes of a window become channels of one 2-d convolution.
 */
export function conv3d(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  options: Conv3dOptions = {},
): Tensor {
  expectTensors('conv3d', x, weight);
  expectOptional('conv3d', bias);
  expectOptions('conv3d', options, convKinds(3));
  const { stride = 1, padding = 0, dilation = 1, groups = 1 } = options;
  expectFit(x, weight, groups);
  if (padding === 'same') expectNoStride('conv3d', stride);
  if (x.rank === 4) {
    return tidy(() => squeeze(conv3d(unsqueeze(x, 0), weight, bias, options), 0));
  }
  const [n, c, d] = x.shape as [number, number, number];
  const [out, perGroup, kd, kh, kw] = weight.shape as [number, number, number, number, number];
  const [step, ...planeStep] = tripleOf(stride);
  const [spread, ...planeSpread] = tripleOf(dilation);
  const span = spread * (kd - 1) + 1;
  const isNamed = typeof padding === 'string';
  const [border, ...planeBorder] = tripleOf(isNamed ? 0 : padding);
  const before = padding === 'same' ? Math.floor((span - 1) / 2) : border;
  const after = padding === 'same' ? span - 1 - before : border;
  if (d + before + after < span) {
    throw new ShapeError({
      what: 'conv3d: the kernel is larger than the padded input',
      given: `${formatSpec(x)} with weight ${formatSpec(weight)}`,
      expected: 'at least one output position',
      remedy: 'use a smaller kernel or more padding',
    });
  }
  return tidy(() => {
    const padded = before + after > 0 ? pad(x, [0, 0, 0, 0, before, after]) : x;
    const windows = index(unfold(padded, 2, span, step), '...', [null, null, spread]);
    const [depth, h, w] = windows.shape.slice(2) as [number, number, number];
    const planes = reshape(permute(windows, [0, 2, 1, 5, 3, 4]), [n * depth, c * kd, h, w]);
    const kernel = reshape(weight, [out, perGroup * kd, kh, kw]);
    const found = conv2d(planes, kernel, bias, {
      stride: planeStep,
      padding: isNamed ? padding : planeBorder,
      dilation: planeSpread,
      groups,
    });
    const [oh, ow] = found.shape.slice(2) as [number, number];
    return permute(reshape(found, [n, depth, out, oh, ow]), [0, 2, 1, 3, 4]);
  });
}

const poolKinds: OptionKinds<MaxPool3dOptions> = {
  stride: perDimension(count(1)),
  padding: perDimension(count(0)),
  dilation: perDimension(count(1)),
  ceilMode: flag,
};

/**
 * The maximum of each window of [n, c, d, h, w] or [c, d, h, w]; the first one wins ties. The default stride is
 * the window size.
 */
export function maxPool3d(
  x: Tensor,
  kernel: number | Triple,
  options: MaxPool3dOptions = {},
): Tensor {
  expectTensors('maxPool3d', x);
  expectArguments('maxPool3d', { kernel }, kernelKinds);
  expectOptions('maxPool3d', options, poolKinds);
  const { stride = kernel, padding = 0, dilation = 1, ceilMode = false } = options;
  if (x.rank !== 4 && x.rank !== 5) {
    throw new ShapeError({
      what: 'maxPool3d: not the right dimensions',
      given: formatSpec(x),
      expected: '[n, c, d, h, w] or [c, d, h, w]',
      remedy: 'unsqueeze() or reshape the tensor',
    });
  }
  const lead = x.shape.slice(0, -3);
  const [d, h, w] = x.shape.slice(-3) as [number, number, number];
  const planes = lead.reduce((a, b) => a * b, 1);
  const [kd, ...planeKernel] = tripleOf(kernel);
  const [step, ...planeStep] = tripleOf(stride);
  const [border, ...planeBorder] = tripleOf(padding);
  const [spread, ...planeSpread] = tripleOf(dilation);
  return tidy(() => {
    const pooled = maxPool2d(reshape(x, [planes, d, h, w]), planeKernel, {
      stride: planeStep,
      padding: planeBorder,
      dilation: planeSpread,
      ceilMode,
    });
    const [oh, ow] = pooled.shape.slice(2) as [number, number];
    const found = maxPool2d(reshape(pooled, [planes, 1, d, oh * ow]), [kd, 1], {
      stride: [step, 1],
      padding: [border, 0],
      dilation: [spread, 1],
      ceilMode,
    });
    return reshape(found, [...lead, found.shape[2]!, oh, ow]);
  });
}
