import * as convKernels from '../../device/cpu/conv/conv.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, DTypeError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectNoStride } from '../../options/expect-arguments.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { dtypes } from '../../spec/dtype.ts';
import { sameShape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { reshape, select, squeeze, unsqueeze } from '../movement/movement.ts';
import { padConstant } from '../movement/place.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectOptional, expectTensors } from '../record/expect-tensors.ts';
import { perEntry, summedEntries } from '../record/row-cuts.ts';
import { type ConvOptions, convKinds, type Pair } from './convolution-options.ts';

export const pairOf = (value: number | Pair): Pair =>
  typeof value === 'number' ? [value, value] : value;

/** Returns the output size of one spatial dimension. */
export function windowed(
  size: number,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
) {
  return Math.floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1;
}

export const windowRules = {
  stride: 'counts',
  padding: 'pair',
  dilation: 'counts',
  groups: 'count',
} as const;

function inferConv2d([x, w]: readonly TensorMeta[], attrs: Attrs) {
  const [n, c, h, wide] = x!.shape;
  const [o, cPerGroup, kh, kw] = w!.shape;
  const stride = attrs.stride as Pair;
  const padding = attrs.padding as Pair;
  const dilation = attrs.dilation as Pair;
  const groups = attrs.groups as number;
  expectSizes('conv2d', { stride, padding, dilation, groups });
  if (!dtypes[x!.dtype].floating || x!.dtype !== w!.dtype) {
    throw new DTypeError({
      what: 'conv2d: not floating-point tensors of one dtype',
      given: `${formatSpec(x!)} and ${formatSpec(w!)}`,
      expected: 'float32 and float32, or float64 and float64',
      remedy: "cast the input: x.to('float32')",
    });
  }
  if (x!.shape.length !== 4 || w!.shape.length !== 4 || c !== cPerGroup! * groups || o! % groups) {
    const taken = cPerGroup! * groups;
    const otherChannels = x!.shape.length === 4 && w!.shape.length === 4 && c !== taken;
    throw new ShapeError({
      what: otherChannels
        ? `conv2d: the layer takes ${taken} channels, not ${c}`
        : "conv2d: input and weight don't fit",
      given: `input ${formatSpec(x!)} for a weight ${formatSpec(w!)}, ${groups} group(s)`,
      expected: `[n, ${taken}, h, w] with weight [o, c / groups, kh, kw], o divisible by groups`,
      remedy:
        'check the order of the dimensions, add the channel dimension (x.unsqueeze(1)), or change the sizes given to new nn.Conv2d(in, out, kernel)',
    });
  }
  const outH = windowed(h!, kh!, stride[0], padding[0], dilation[0]);
  const outW = windowed(wide!, kw!, stride[1], padding[1], dilation[1]);
  if (outH < 1 || outW < 1) {
    throw new ShapeError({
      what: 'conv2d: the kernel is larger than the padded input',
      given: `${formatSpec(x!)} with weight ${formatSpec(w!)}, padding ${padding.join('×')}`,
      expected: 'at least one output position',
      remedy: 'use a smaller kernel or more padding',
    });
  }
  return { dtype: x!.dtype, shape: [n!, o!, outH, outW] };
}

/** Gradient kernels address memory by the attributes, which must belong to a convolution with this result. */
function expectGradient(dy: TensorMeta, x: TensorMeta, w: TensorMeta, attrs: Attrs): void {
  const { shape } = inferConv2d(
    [
      { ...x, dtype: dy.dtype },
      { ...w, dtype: dy.dtype },
    ],
    attrs,
  );
  if (sameShape(dy.shape, shape)) return;
  throw new ShapeError({
    what: "conv2d: a gradient that doesn't fit its convolution",
    given: formatSpec(dy),
    expected: formatSpec({ dtype: dy.dtype, shape }),
    remedy: 'report it: the gradient has the shape of the result',
  });
}

export const conv2dInputGradOp: OpRecord = defineOp({
  name: 'conv2dInputGrad',
  operands: { dy: 'data', w: 'data', x: 'shape' },
  attrs: windowRules,
  dtypes: { dy: 'floating', x: 'ignored' },
  infer: ([dy, w, x], attrs) => {
    expectGradient(dy!, x!, w!, attrs);
    return { dtype: dy!.dtype, shape: x!.shape };
  },
  kernel: named('conv2dInputGrad', convKernels.conv2dInputGrad),
  rows: perEntry(1),
  vjp: {
    dy: saving({ w: 'value' }, ({ w }, g, attrs) => bind1(conv2dOp, [g, w], attrs)),
    w: saving({ dy: 'value', w: 'shape' }, ({ dy, w }, g, attrs) =>
      bind1(conv2dWeightGradOp, [dy, g, w as Tensor], attrs),
    ),
  },
});

export const conv2dWeightGradOp: OpRecord = defineOp({
  name: 'conv2dWeightGrad',
  operands: { dy: 'data', x: 'data', w: 'shape' },
  attrs: windowRules,
  dtypes: { dy: 'floating', w: 'ignored' },
  infer: ([dy, x, w], attrs) => {
    expectGradient(dy!, x!, w!, attrs);
    return { dtype: dy!.dtype, shape: w!.shape };
  },
  kernel: named('conv2dWeightGrad', convKernels.conv2dWeightGrad),
  rows: summedEntries(() => addConv2dWeightGradOp, 2),
  vjp: {
    dy: saving({ x: 'value' }, ({ x }, g, attrs) => bind1(conv2dOp, [x, g], attrs)),
    x: saving({ dy: 'value', x: 'shape' }, ({ dy, x }, g, attrs) =>
      bind1(conv2dInputGradOp, [dy, g, x as Tensor], attrs),
    ),
  },
});

/**
 * In place: the gradient of a convolution's weights, continued from the previous images. Bitwise identical to one
 * sum over all images. Only the compiler emits it.
 */
export const addConv2dWeightGradOp = defineOp({
  name: 'addConv2dWeightGrad_',
  operands: { dw: 'data', dy: 'data', x: 'data', w: 'shape' },
  attrs: windowRules,
  fits: ([dw, dy, x, w], attrs) => {
    expectGradient(dy!, x!, w!, attrs);
    return sameShape(dw!.shape, w!.shape) || 'a gradient of the weights';
  },
  dtypes: { dw: 'floating', w: 'ignored' },
  infer: ([dw]) => ({ dtype: dw!.dtype, shape: dw!.shape }),
  kernel: named('addConv2dWeightGrad', convKernels.addConv2dWeightGrad),
  inPlace: true,
});

export const conv2dOp: OpRecord = defineOp({
  name: 'conv2d',
  operands: { x: 'data', w: 'data' },
  attrs: windowRules,
  dtypes: { x: 'floating' },
  infer: inferConv2d,
  kernel: named('conv2d', convKernels.conv2d),
  rows: perEntry(1),
  // Each element of the result is a sum over one filter.
  work: ([, w], [out]) => (2 * sizeOf(out!.shape) * sizeOf(w!.shape)) / w!.shape[0]!,
  vjp: {
    x: saving({ x: 'shape', w: 'value' }, ({ x, w }, dy, attrs) =>
      bind1(conv2dInputGradOp, [dy, w, x as Tensor], attrs),
    ),
    w: saving({ x: 'value', w: 'shape' }, ({ x, w }, dy, attrs) =>
      bind1(conv2dWeightGradOp, [dy, x, w as Tensor], attrs),
    ),
  },
});

export type Conv2dOptions = ConvOptions;

export interface ConvSizes {
  readonly stride: Pair;
  readonly dilation: Pair;
  readonly padding: Pair;
  readonly groups: number;
}

export function expectSizes(name: string, { stride, dilation, padding, groups }: ConvSizes): void {
  const whole = (list: readonly number[], from: number) =>
    list.length === 2 && list.every((each) => Number.isInteger(each) && each >= from);
  if (whole(stride, 1) && whole(dilation, 1) && whole(padding, 0) && whole([groups, 1], 1)) return;
  throw new ArgumentError({
    what: `${name}: not sizes of windows`,
    given: `stride ${stride.join('×')}, dilation ${dilation.join('×')}, padding ${padding.join('×')}, ${groups} group(s)`,
    expected: 'integers: stride, dilation and groups from 1 on, padding from 0 on',
    remedy: 'check the options',
  });
}

/** Treats [c, h, w] as a batch of one and removes the batch dimension from the result. */
export function batched(x: Tensor, body: (batch: Tensor) => Tensor): Tensor {
  if (x.rank !== 3) return body(x);
  return select(body(unsqueeze(x, 0)), 0, 0);
}

export function withBias(y: Tensor, bias: Tensor | null): Tensor {
  return bias ? add(y, reshape(bias, [1, -1, 1, 1])) : y;
}

const conv2dKinds = convKinds(2);

/** Cross-correlation of [n,c,h,w] or [c,h,w] with weight [o, c/groups, kh, kw]; bias [o]. */
export function conv2d(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  options: ConvOptions = {},
): Tensor {
  return naming('conv2d', () => {
    expectTensors('conv2d', x, weight);
    expectOptional('conv2d', bias);
    expectOptions('conv2d', options, conv2dKinds);
    const stride = pairOf(options.stride ?? 1);
    const dilation = pairOf(options.dilation ?? 1);
    const groups = options.groups ?? 1;
    const requested = options.padding === 'valid' ? 0 : (options.padding ?? 0);
    return tidy(() =>
      batched(x, (image) => {
        if (requested !== 'same') {
          const sizes = { stride, dilation, padding: pairOf(requested), groups };
          expectSizes('conv2d', sizes);
          return withBias(bind1(conv2dOp, [image, weight], { ...sizes }), bias);
        }
        expectSizes('conv2d', { stride, dilation, padding: [0, 0], groups });
        const { padding, source } = paddedToSame(image, weight, stride, dilation);
        const attrs = { stride, dilation, padding, groups };
        return withBias(bind1(conv2dOp, [source, weight], attrs), bias);
      }),
    );
  });
}

/** An odd amount puts the larger half after the input, as in PyTorch. */
function paddedToSame(x: Tensor, weight: Tensor, stride: Pair, dilation: Pair) {
  expectNoStride('conv2d', stride);
  const total = dilation.map((each, i) => each * ((weight.shape[i + 2] ?? 1) - 1));
  const padding = total.map((each) => Math.floor(each / 2)) as unknown as Pair;
  if (total.every((each) => each % 2 === 0)) return { padding, source: x };
  const after = x.shape.map((_, d) => (d < 2 ? 0 : total[d - 2]! % 2));
  return {
    padding,
    source: padConstant(
      x,
      x.shape.map(() => 0),
      after,
      0,
    ),
  };
}

/** Returns a pair with one dimension's size as the second. */
export const flat = (
  value: number | readonly number[] | undefined,
  row: number,
): Pair | undefined => (value === undefined ? undefined : [row, ([value].flat() as number[])[0]!]);

export function expectRank(name: string, x: Tensor, weight: Tensor): void {
  if (weight.rank === 3 && (x.rank === 2 || x.rank === 3)) return;
  throw new ShapeError({
    what: `${name}: input and weight don't fit`,
    given: `${formatSpec(x)} with weight ${formatSpec(weight)}`,
    expected: '[n, c, length] or [c, length] with a weight of 3 dimensions',
    remedy: 'add the missing dimension with unsqueeze()',
  });
}

const conv1dKinds = convKinds(1);

/** Cross-correlation of [n,c,length] or [c,length] with weight [o, c/groups, k]; bias [o]. */
export function conv1d(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  options: ConvOptions<number | readonly [number]> = {},
): Tensor {
  return naming('conv1d', () => {
    expectTensors('conv1d', x, weight);
    expectOptional('conv1d', bias);
    expectOptions('conv1d', options, conv1dKinds);
    expectRank('conv1d', x, weight);
    const { padding } = options;
    return tidy(() => {
      const y = conv2d(unsqueeze(x, -2), unsqueeze(weight, -2), bias, {
        stride: flat(options.stride, 1) ?? 1,
        dilation: flat(options.dilation, 1) ?? 1,
        padding: typeof padding === 'string' ? padding : (flat(padding, 0) ?? 0),
        groups: options.groups ?? 1,
      });
      return squeeze(y, -2);
    });
  });
}
