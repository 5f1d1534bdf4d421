/** 3-d convolutions of [n, c, d, h, w] or [c, d, h, w], computed with the 2-d ops. */

import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { index } from '../ops/advanced-indexing/advanced-index.ts';
import { add } from '../ops/arithmetic/arithmetic.ts';
import { pad } from '../ops/arranging/padding.ts';
import { conv2d } from '../ops/convolution/conv.ts';
import { convTranspose2d } from '../ops/convolution/conv-transpose.ts';
import {
  type ConvOptions,
  type ConvTransposeOptions,
  convKinds,
  convTransposeKinds,
} from '../ops/convolution/convolution-options.ts';
import { narrow, permute, reshape, squeeze, unsqueeze } from '../ops/movement/movement.ts';
import { col2im, unfold } from '../ops/movement/windows.ts';
import { expectOptional, expectTensors } from '../ops/record/expect-tensors.ts';
import { expectNoStride } from '../options/expect-arguments.ts';
import { expectOptions } from '../options/expect-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

type Triple = readonly [number, number, number];
export type Conv3dOptions = ConvOptions<number | Triple>;
export type ConvTranspose3dOptions = ConvTransposeOptions<number | Triple>;

const tripleOf = (value: number | Triple): Triple =>
  typeof value === 'number' ? [value, value, value] : value;

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
    return calledAs('conv3d', () => squeeze(conv3d(unsqueeze(x, 0), weight, bias, options), 0));
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
  return calledAs('conv3d', () => {
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

function expectTransposedFit(x: Tensor, weight: Tensor, depth: number): void {
  const fits = weight.rank === 5 && (x.rank === 4 || x.rank === 5);
  if (fits && x.shape.at(-4) === weight.shape[0] && depth >= 1) return;
  throw new ShapeError({
    what: "convTranspose3d: input and weight don't fit",
    given: `input ${formatSpec(x)} for a weight ${formatSpec(weight)}`,
    expected:
      '[n, c, d, h, w] or [c, d, h, w] with weight [c, o / groups, kd, kh, kw], and an entry in each dimension of the result',
    remedy:
      'check the order of the dimensions, or the sizes given to new nn.ConvTranspose3d(in, out, kernel)',
  });
}

/**
 * The adjoint of conv3d: [n, c, d, h, w] → [n, o, d', h', w'], weight [c, o / groups, kd, kh, kw], bias [o]. The planes
 * of a window are channels of one 2-d convolution, added where windows overlap.
 */
export function convTranspose3d(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  options: ConvTranspose3dOptions = {},
): Tensor {
  expectTensors('convTranspose3d', x, weight);
  expectOptional('convTranspose3d', bias);
  expectOptions('convTranspose3d', options, convTransposeKinds(3));
  const { stride = 1, padding = 0, outputPadding = 0, dilation = 1, groups = 1 } = options;
  const [step, ...planeStep] = tripleOf(stride);
  const [border, ...planeBorder] = tripleOf(padding);
  const [added, ...planeAdded] = tripleOf(outputPadding);
  const [spread, ...planeSpread] = tripleOf(dilation);
  const d = x.shape.at(-3) ?? 0;
  const [, perGroup = 0, kd = 0, kh = 0, kw = 0] = weight.shape;
  const reached = (d - 1) * step - 2 * border + spread * (kd - 1) + 1;
  expectTransposedFit(x, weight, d === 0 ? 0 : reached + added);
  if (added >= Math.max(step, spread)) {
    throw new ShapeError({
      what: 'convTranspose3d: too much output padding',
      given: `outputPadding ${added} of the depth, with stride ${step} and dilation ${spread}`,
      expected: 'outputPadding below the stride or the dilation',
      remedy: 'check the options',
    });
  }
  if (x.rank === 4) {
    return calledAs('convTranspose3d', () =>
      squeeze(convTranspose3d(unsqueeze(x, 0), weight, bias, options), 0),
    );
  }
  const [n, c] = x.shape as [number, number];
  return calledAs('convTranspose3d', () => {
    const planes = reshape(permute(x, [0, 2, 1, 3, 4]), [n * d, c, ...x.shape.slice(3)]);
    const kernel = reshape(weight, [c, perGroup * kd, kh, kw]);
    const found = convTranspose2d(planes, kernel, null, {
      stride: planeStep,
      padding: planeBorder,
      outputPadding: planeAdded,
      dilation: planeSpread,
      groups,
    });
    const [h, w] = found.shape.slice(2) as [number, number];
    const out = perGroup * groups;
    // One row per channel and position in a plane, with its windows along the depth.
    const windows = permute(reshape(found, [n, d, out, kd, h * w]), [0, 2, 4, 3, 1]);
    const summed = col2im(
      reshape(windows, [n, out * h * w * kd, d]),
      [reached + 2 * border, 1],
      [kd, 1],
      { stride: [step, 1], dilation: [spread, 1] },
    );
    const depths = reshape(summed, [n, out, h * w, reached + 2 * border]);
    const longer = added > border ? pad(depths, [0, added - border]) : depths;
    const kept = narrow(longer, 3, border, reached + added);
    const volume = reshape(permute(kept, [0, 1, 3, 2]), [n, out, reached + added, h, w]);
    return bias === null ? volume : add(volume, reshape(bias, [out, 1, 1, 1]));
  });
}
