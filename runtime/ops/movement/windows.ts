/** Sliding windows over a dimension. */

import * as rearrangeKernels from '../../device/cpu/movement/rearrange.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectNames } from '../../options/expect-options.ts';
import { normalizeDim, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { defineOp, type Fits, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber, numbersIn } from '../record/positional.ts';
import { clone, contiguous, narrow, permute, reshape, select, unsqueeze } from './movement.ts';
import { padConstant } from './place.ts';
import { fullLike } from './ranges.ts';
import { replaced } from './views.ts';

export const unfoldOp: OpRecord = defineOp({
  name: 'unfold',
  operands: { x: 'data' },
  attrs: { dim: 'dim', size: 'size', step: 'count', count: 'size', dilation: 'count' },
  infer: ([x], { dim, size, count }) => ({
    dtype: x!.dtype,
    shape: [...replaced(x!.shape, dim as number, count as number), size as number],
  }),
  kernel: {
    kind: 'view',
    view: ([x], { dim, size, step, count, dilation }) => {
      const at = dim as number;
      const { dtype, shape, strides, offset, device } = x!;
      return {
        dtype,
        shape: [...replaced(shape, at, count as number), size as number],
        strides: [
          ...replaced(strides, at, strides[at]! * (step as number)),
          strides[at]! * (dilation as number),
        ],
        offset,
        device,
      };
    },
  },
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy, { dim, step, dilation }) =>
      bind1(unfoldGradOp, [dy, x as Tensor], { dim: dim!, step: step!, dilation: dilation! }),
    ),
  },
});

/** Requires dy [.., windows, .., size], with the last window ending inside the operand. */
const fitsWindows: Fits = ([dy, x], { dim, step, dilation }) => {
  const at = dim as number;
  const [count, size] = [dy!.shape[at] ?? 0, dy!.shape.at(-1) ?? 0];
  const isAlike = sameShape(dy!.shape, [...replaced(x!.shape, at, count), size]);
  const end = (count - 1) * (step as number) + (size - 1) * (dilation as number);
  return (isAlike && (count * size === 0 || end < x!.shape[at]!)) || 'windows of the operand';
};

export const unfoldGradOp: OpRecord = defineOp({
  name: 'unfoldGrad',
  operands: { dy: 'data', x: 'shape' },
  attrs: { dim: 'dim', step: 'count', dilation: 'count' },
  fits: fitsWindows,
  dtypes: { dy: 'number', x: 'ignored' },
  infer: ([dy, x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: named('unfoldGrad', rearrangeKernels.unfoldGrad),
  vjp: {
    dy: saving({ dy: 'shape' }, ({ dy }, g, { dim, step, dilation }) => {
      const size = dy.shape.at(-1)!;
      return bind1(unfoldOp, [g], {
        dim: dim!,
        step: step!,
        dilation: dilation!,
        size,
        count: dy.shape[dim as number]!,
      });
    }),
  },
});

/** Returns windows of `size` entries of a dimension, `step` apart; the window becomes the last dimension. */
export function unfold(x: Tensor, dim: number, size: number, step: number): Tensor {
  expectNumber('unfold', 'size', size);
  expectNumber('unfold', 'step', step);
  expectTensors('unfold', x);
  const at = normalizeDim(dim, x.rank, 'unfold');
  const entries = x.shape[at] ?? 1;
  const whole = [size, step].every(Number.isInteger);
  if (!whole || size < 0 || size > entries || step < 1) {
    throw new ArgumentError({
      what: 'unfold: no such windows',
      given: `size ${size}, step ${step} in dimension ${at} of ${formatSpec(x)}`,
      expected: `a size from 0 to ${entries}, and a step from 1 on`,
      remedy: 'pad() the dimension, or use smaller windows',
    });
  }
  // A scalar counts as one entry, in one window.
  if (x.rank === 0) return reshape(x, [size]);
  const count = Math.floor((entries - size) / step) + 1;
  return bind1(unfoldOp, [x], { dim: at, size, step, dilation: 1, count });
}

type Pair = readonly [number, number];

export interface UnfoldOptions {
  /** Distance of the elements of a window, 1 by default. */
  readonly dilation?: number | Pair;
  /** Zero padding around the image. */
  readonly padding?: number | Pair;
  /** Steps of the windows, 1 by default. */
  readonly stride?: number | Pair;
}

interface Windows {
  readonly kernel: Pair;
  readonly dilation: Pair;
  readonly padding: Pair;
  readonly stride: Pair;
  /** The number of windows in each direction. */
  readonly count: Pair;
}

function pairOf(name: string, argument: string, value: number | Pair): Pair {
  const numbers = numbersIn(name, argument, Array.isArray(value) ? value : [value]);
  return [numbers[0]!, numbers.at(-1)!];
}

function windowsOver(
  name: string,
  size: Pair,
  kernelSize: number | Pair,
  options: UnfoldOptions,
): Windows {
  expectNames(name, options, ['dilation', 'padding', 'stride']);
  const kernel = pairOf(name, 'kernel', kernelSize);
  const dilation = pairOf(name, 'dilation', options.dilation ?? 1);
  const padding = pairOf(name, 'padding', options.padding ?? 0);
  const stride = pairOf(name, 'stride', options.stride ?? 1);
  const count = [0, 1].map(
    (i) =>
      Math.floor((size[i]! + 2 * padding[i]! - dilation[i]! * (kernel[i]! - 1) - 1) / stride[i]!) +
      1,
  ) as unknown as Pair;
  const whole = [...kernel, ...dilation, ...stride, ...count];
  if (
    whole.every((each) => Number.isInteger(each) && each >= 1) &&
    padding.every((each) => Number.isInteger(each) && each >= 0)
  ) {
    return { kernel, dilation, padding, stride, count };
  }
  throw new ArgumentError({
    what: `${name}: no such windows`,
    given: `kernel ${kernel.join('×')}, dilation ${dilation.join('×')}, padding ${padding.join('×')}, stride ${stride.join('×')} over ${size.join('×')}`,
    expected: 'integers, padding from 0 and the others from 1 on, and at least one window',
    remedy: 'use a smaller kernel or more padding',
  });
}

function expectImages(name: string, x: Tensor, rank: number, expected: string): void {
  expectTensors(name, x);
  if (x.rank === rank || x.rank === rank - 1) return;
  throw new ShapeError({
    what: `${name}: not a batch of images`,
    given: formatSpec(x),
    expected,
    remedy: 'reshape the tensor',
  });
}

/**
 * Extracts a convolution's windows as columns: [n,c,h,w] → [n, c · kh · kw, windows]; PyTorch's
 * `nn.functional.unfold`. The batch dimension may be omitted.
 */
export function im2col(x: Tensor, kernel: number | Pair, options: UnfoldOptions = {}): Tensor {
  expectTensors('im2col', x);
  expectImages('im2col', x, 4, '[n, c, h, w] or [c, h, w]');
  return tidy(() => {
    if (x.rank === 3) return select(im2col(unsqueeze(x, 0), kernel, options), 0, 0);
    const [n, c, h, w] = x.shape as [number, number, number, number];
    const layout = windowsOver('im2col', [h, w], kernel, options);
    const border = [0, 0, ...layout.padding];
    const padded = border.some((size) => size > 0) ? padConstant(x, border, border, 0) : x;
    const along = (image: Tensor, dim: 0 | 1): Tensor =>
      bind1(unfoldOp, [image], {
        dim: dim + 2,
        size: layout.kernel[dim],
        step: layout.stride[dim],
        dilation: layout.dilation[dim],
        count: layout.count[dim],
      });
    // [n, c, oh, ow, kh, kw]
    const windows = along(along(padded, 0), 1);
    const columns = c * layout.kernel[0] * layout.kernel[1];
    const ordered = clone(permute(windows, [0, 1, 4, 5, 2, 3]));
    return reshape(ordered, [n, columns, layout.count[0] * layout.count[1]]);
  });
}

/**
 * Sums columns at the positions of their windows: [n, c · kh · kw, windows] → [n, c, ...size]; the adjoint of
 * im2col, and PyTorch's `nn.functional.fold`.
 */
export function col2im(
  x: Tensor,
  size: number | Pair,
  kernel: number | Pair,
  options: UnfoldOptions = {},
): Tensor {
  expectImages('col2im', x, 3, '[n, c · kh · kw, windows] or without n');
  const [h, w] = pairOf('col2im', 'size', size);
  const layout = windowsOver('col2im', [h, w], kernel, options);
  const [kh, kw] = layout.kernel;
  const [oh, ow] = layout.count;
  const [rows, windows] = x.shape.slice(-2) as [number, number];
  if (rows % (kh * kw) !== 0 || windows !== oh * ow) {
    throw new ShapeError({
      what: "col2im: the columns don't fit the windows",
      given: `${formatSpec(x)} for ${oh}×${ow} windows of ${kh}×${kw}`,
      expected: `[n, c · ${kh * kw}, ${oh * ow}]`,
      remedy: 'pass the options that im2col got',
    });
  }
  const summed = () => {
    if (x.rank === 2) return select(col2im(unsqueeze(x, 0), size, kernel, options), 0, 0);
    const [n] = x.shape as [number];
    const c = rows / (kh * kw);
    const [ph, pw] = layout.padding;
    const windowed = permute(reshape(x, [n, c, kh, kw, oh, ow]), [0, 1, 4, 5, 2, 3]);
    const add = (dy: Tensor, dim: 0 | 1, shape: readonly number[]): Tensor => {
      const like = expand(fullLike(dy, 0, { shape: [] }), shape);
      const attrs = { dim: dim + 2, step: layout.stride[dim], dilation: layout.dilation[dim] };
      return bind1(unfoldGradOp, [dy, like], attrs);
    };
    const columns = add(windowed, 1, [n, c, oh, w + 2 * pw, kh]);
    const image = add(columns, 0, [n, c, h + 2 * ph, w + 2 * pw]);
    return contiguous(narrow(narrow(image, 2, ph, h), 3, pw, w));
  };
  return tidy(() => naming('col2im', summed));
}
