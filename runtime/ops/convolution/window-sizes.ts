/** Sizes of windows that slide over the last dimensions of a tensor. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { formatShape } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { expectTensors } from '../record/expect-tensors.ts';

/** Windows along one dimension. */
export interface WindowSizes {
  readonly kernel: number;
  readonly stride: number;
  readonly padding: number;
  readonly dilation: number;
  /** The number of windows. */
  readonly out: number;
}

interface WindowAttrs {
  readonly kernel: unknown;
  readonly stride: unknown;
  readonly padding: unknown;
  readonly dilation: unknown;
  readonly ceilMode: boolean;
}

function expanded(value: unknown, count: number): readonly number[] {
  const list = [value].flat() as number[];
  return list.length === 1 ? new Array<number>(count).fill(list[0]!) : list;
}

function expectNumbers(
  name: string,
  what: string,
  list: readonly number[],
  count: number,
  from: number,
) {
  if (list.length === count && list.every((each) => Number.isInteger(each) && each >= from)) return;
  throw new ArgumentError({
    what: `${name}: not a ${what}`,
    given: formatShape(list),
    expected: `an integer from ${from} on${count > 1 ? `, or ${count} of them` : ''}`,
    remedy: `check ${what}`,
  });
}

/** Returns the number of windows; with `ceilMode` the last one may extend past the end, but must start inside. */
function windows(size: number, window: Omit<WindowSizes, 'out'>, ceilMode: boolean): number {
  const { kernel, stride, padding, dilation } = window;
  const room = size + 2 * padding - dilation * (kernel - 1) - 1;
  const count = Math.floor((room + (ceilMode ? stride - 1 : 0)) / stride) + 1;
  return ceilMode && (count - 1) * stride >= size + padding ? count - 1 : count;
}

/**
 * Whether each window contains an element of the dimension: a dilated window that starts before it may step over it.
 */
export function haveElements(size: number, window: WindowSizes): boolean {
  const { kernel, stride, padding, dilation, out } = window;
  if ((out - 1) * stride - padding >= size) return false;
  for (let i = 0; i < out && i * stride < padding; i++) {
    const start = i * stride - padding;
    const first = start + Math.ceil(-start / dilation) * dilation;
    if (first >= Math.min(size, start + (kernel - 1) * dilation + 1)) return false;
  }
  return true;
}

/** Returns the windows over the last `count` dimensions of [channels, …] or [n, channels, …]. */
export function windowSizes(
  name: string,
  x: Tensor,
  count: number,
  attrs: WindowAttrs,
): WindowSizes[] {
  const kernel = expanded(attrs.kernel, count);
  const stride = expanded(attrs.stride, count);
  const padding = expanded(attrs.padding, count);
  const dilation = expanded(attrs.dilation, count);
  expectNumbers(name, 'window', kernel, count, 1);
  expectNumbers(name, 'stride', stride, count, 1);
  expectNumbers(name, 'padding', padding, count, 0);
  expectNumbers(name, 'dilation', dilation, count, 1);
  expectSpatial(name, x, count);
  const sizeOf = (i: number) => x.shape[x.rank - count + i]!;
  const sizes = kernel.map((item, i) => {
    const window = {
      kernel: item,
      stride: stride[i]!,
      padding: padding[i]!,
      dilation: dilation[i]!,
    };
    return { ...window, out: windows(sizeOf(i), window, attrs.ceilMode) };
  });
  // A window entirely in the padding has no maximum or mean.
  const isWithin = (window: WindowSizes, i: number) =>
    window.out >= 1 && 2 * window.padding <= window.kernel && haveElements(sizeOf(i), window);
  if (sizes.every(isWithin)) return sizes;
  throw new ShapeError({
    what: `${name}: the window doesn't fit`,
    given: `${formatSpec(x)} with window ${kernel.join('×')}, padding ${padding.join('×')}, dilation ${dilation.join('×')}`,
    expected:
      'a tensor at least as large as the window, padding at most half the window, an element in each window',
    remedy: 'use a smaller window or less padding, or pool less often',
  });
}

function expectSpatial(name: string, x: Tensor, count: number): void {
  expectTensors(name, x);
  const fits = x.rank === count + 1 || x.rank === count + 2;
  // An empty batch is valid, but an empty plane has no windows.
  if (fits && !x.shape.slice(x.rank - count).includes(0)) return;
  throw new ShapeError({
    what: `${name}: not the right dimensions`,
    given: formatSpec(x),
    expected: `[channels, …] or [n, channels, …] with ${count} more dimension(s) that have entries`,
    remedy: 'unsqueeze() or reshape the tensor',
  });
}

/** Returns the sizes of an adaptive pooling's result; null keeps a size. */
export function pooledSize(name: string, x: Tensor, count: number, size: unknown): number[] {
  expectSpatial(name, x, count);
  const requested = (
    Array.isArray(size) ? size : new Array<unknown>(count).fill(size)
  ) as readonly (number | null)[];
  const sizes = requested.map((each, i) => each ?? x.shape[x.rank - count + i]!);
  expectNumbers(name, 'size', sizes, count, 0);
  return sizes;
}
