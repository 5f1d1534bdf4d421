/** Transposed convolutions: the adjoints of convolutions, as separate ops. */

import * as convKernels from '../../device/cpu/conv/conv.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { dtypes } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { squeeze, unsqueeze } from '../movement/movement.ts';
import { padConstant } from '../movement/place.ts';
import { defineOp, type Fits, type OpRecord, saving } from '../record/define-op.ts';
import { expectOptional, expectTensors } from '../record/expect-tensors.ts';
import {
  batched,
  type ConvSizes,
  conv2dOp,
  conv2dWeightGradOp,
  expectRank,
  expectSizes,
  flat,
  pairOf,
  windowed,
  windowRules,
  withBias,
} from './conv.ts';
import { type ConvTransposeOptions, convTransposeKinds, type Pair } from './convolution-options.ts';

/** Requires that a convolution of the result with these windows be at least as large as the operand. */
const fitsTransposed: Fits = ([x, w], attrs) => {
  const { size, groups } = attrs;
  const [stride, padding, dilation] = [attrs.stride, attrs.padding, attrs.dilation] as Pair[];
  if (x!.shape.length !== 4 || w!.shape.length !== 4) return 'four dimensions';
  const isConvolved = [0, 1].every((d) => {
    const [out, kernel] = [(size as Pair)[d]!, w!.shape[d + 2]!];
    const found = windowed(out, kernel, stride![d]!, padding![d]!, dilation![d]!);
    // It may be larger by the padding that is added at the end of the result.
    return found >= x!.shape[d + 2]! && found <= x!.shape[d + 2]! + dilation![d]!;
  });
  const isSplit = x!.shape[1] === w!.shape[0] && w!.shape[0]! % (groups as number) === 0;
  return (isConvolved && isSplit) || 'windows, groups and a size that fit the operands';
};

export const convTranspose2dOp: OpRecord = defineOp({
  name: 'convTranspose2d',
  operands: { x: 'data', w: 'data' },
  attrs: { ...windowRules, size: 'pair' },
  fits: fitsTransposed,
  dtypes: { x: 'floating' },
  infer: ([x, w], { size, groups }) => ({
    dtype: x!.dtype,
    shape: [x!.shape[0]!, w!.shape[1]! * (groups as number), ...(size as Pair)],
  }),
  kernel: named('convTranspose2d', convKernels.convTranspose2d),
  // Each element of x is multiplied by one filter.
  work: ([x, w]) => (2 * sizeOf(x!.shape) * sizeOf(w!.shape)) / w!.shape[0]!,
  vjp: {
    x: saving({ w: 'value' }, ({ w }, dy, attrs) => bind1(conv2dOp, [dy, w], attrs)),
    w: saving({ x: 'value', w: 'shape' }, ({ x, w }, dy, attrs) =>
      bind1(conv2dWeightGradOp, [x, dy, w as Tensor], attrs),
    ),
  },
});

const convTranspose2dKinds = convTransposeKinds(2);

/** The adjoint of conv2d: [n,c,h,w] with weight [c, o/groups, kh, kw]; bias [o]. */
export function convTranspose2d(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  options: ConvTransposeOptions = {},
): Tensor {
  return naming('convTranspose2d', () => {
    expectTensors('convTranspose2d', x, weight);
    expectOptional('convTranspose2d', bias);
    expectOptions('convTranspose2d', options, convTranspose2dKinds);
    const sizes = {
      stride: pairOf(options.stride ?? 1),
      padding: pairOf(options.padding ?? 0),
      dilation: pairOf(options.dilation ?? 1),
      groups: options.groups ?? 1,
    };
    const added = pairOf(options.outputPadding ?? 0);
    expectSizes('convTranspose2d', sizes);
    return tidy(() =>
      batched(x, (image) => {
        const size = transposedSize(image, weight, sizes, added);
        const source = withLastWindows(image, sizes.stride, added);
        return withBias(bind1(convTranspose2dOp, [source, weight], { ...sizes, size }), bias);
      }),
    );
  });
}

/**
 * Returns x with zeros for the windows in the output padding, which with a dilation may be as large as a stride: the
 * convolution in backward computes a gradient for these windows.
 */
function withLastWindows(x: Tensor, stride: Pair, added: Pair): Tensor {
  const after = x.shape.map((_, d) => (d < 2 ? 0 : Math.floor(added[d - 2]! / stride[d - 2]!)));
  if (after.every((each) => each === 0)) return x;
  return padConstant(
    x,
    x.shape.map(() => 0),
    after,
    0,
  );
}

function transposedSize(x: Tensor, weight: Tensor, sizes: ConvSizes, added: Pair): number[] {
  const { stride, padding, dilation, groups } = sizes;
  const fits = x.rank === 4 && weight.rank === 4 && x.shape[1] === weight.shape[0];
  const open = added.every(
    (each, i) => Number.isInteger(each) && each >= 0 && each < Math.max(stride[i]!, dilation[i]!),
  );
  const size = [0, 1].map(
    (i) =>
      (x.shape[i + 2]! - 1) * stride[i]! -
      2 * padding[i]! +
      dilation[i]! * (weight.shape[i + 2]! - 1) +
      added[i]! +
      1,
  );
  const floats = dtypes[x.dtype].floating && x.dtype === weight.dtype;
  if (fits && floats && open && x.shape[1]! % groups === 0 && size.every((each) => each >= 1)) {
    return size;
  }
  throw new ShapeError({
    what:
      x.rank === 4 && x.shape[1] !== weight.shape[0]
        ? `convTranspose2d: the layer takes ${weight.shape[0]} channels, not ${x.shape[1]}`
        : "convTranspose2d: input and weight don't fit",
    given: `input ${formatSpec(x)} for a weight ${formatSpec(weight)}, ${groups} group(s), outputPadding ${added.join('×')}`,
    expected:
      '[n, c, h, w] with weight [c, o / groups, kh, kw], c divisible by groups, outputPadding below the stride',
    remedy: 'check the channels and the options',
  });
}

const convTranspose1dKinds = convTransposeKinds(1);

/** The adjoint of conv1d: [n,c,length] with weight [c, o/groups, k]; bias [o]. */
export function convTranspose1d(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  options: ConvTransposeOptions<number | readonly [number]> = {},
): Tensor {
  return naming('convTranspose1d', () => {
    expectTensors('convTranspose1d', x, weight);
    expectOptional('convTranspose1d', bias);
    expectOptions('convTranspose1d', options, convTranspose1dKinds);
    expectRank('convTranspose1d', x, weight);
    return tidy(() => {
      const y = convTranspose2d(unsqueeze(x, -2), unsqueeze(weight, -2), bias, {
        stride: flat(options.stride, 1) ?? 1,
        padding: flat(options.padding, 0) ?? 0,
        outputPadding: flat(options.outputPadding, 0) ?? 0,
        dilation: flat(options.dilation, 1) ?? 1,
        groups: options.groups ?? 1,
      });
      return squeeze(y, -2);
    });
  });
}
