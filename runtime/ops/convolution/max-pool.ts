/** Max pooling: the maximum of each window. */

import * as poolsKernels from '../../device/cpu/pool.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag, judgedLater } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind, bind1 } from '../core/bind.ts';
import { gather } from '../indexing/gather.ts';
import { flatten, reshape, unsqueeze } from '../movement/movement.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { perEntry } from '../record/row-cuts.ts';
import { haveElements, pooledSize, windowSizes } from './window-sizes.ts';

type Pair = readonly [number, number];

/** The windows, along both dimensions, that the indices lie in; without them an index may be anywhere. */
const gradientWindows = {
  kernel: { optional: 'counts' },
  stride: { optional: 'counts' },
  padding: { optional: 'pair' },
  dilation: { optional: 'counts' },
} as const;

export const maxPool2dGradOp = defineOp({
  name: 'maxPool2dGrad',
  operands: { dy: 'data', indices: 'data', x: 'shape' },
  attrs: gradientWindows,
  dtypes: { dy: 'floating', indices: 'int32', x: 'ignored' },
  infer: ([dy, , x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: named('maxPool2dGrad', poolsKernels.maxPool2dGrad),
  rows: perEntry(),
  // Indices are relative to a plane.
  vjp: {
    dy: saving({ indices: 'value' }, ({ indices }, g) => {
      const chosen = gather(flatten(g, 2), 2, flatten(indices, 2));
      return reshape(chosen, indices.shape);
    }),
  },
});

function inferPooled(
  [x]: readonly TensorMeta[],
  { size }: Attrs,
  places: 'int32' | 'uint8' = 'int32',
) {
  const shape = [...x!.shape.slice(0, 2), ...(size as readonly number[])];
  return [
    { dtype: x!.dtype, shape },
    { dtype: places, shape },
  ];
}

/** `windowsOf` returns the windows that a device may use to find an element's gradients. */
const pooledVjp = (windowsOf: (attrs: Attrs) => Attrs) =>
  ({
    x: saving({ out1: 'value', x: 'shape' }, ({ out1, x }, dy, attrs) =>
      bind1(maxPool2dGradOp, [dy, out1, x as Tensor], windowsOf(attrs)),
    ),
  }) as const;

/** Throws ArgumentError for invalid windows: kernels step through them by these attributes. */
function expectWindows(x: TensorMeta, { kernel, stride, padding, dilation, size }: Attrs): void {
  const fits = ([list, from]: readonly [Attrs[string] | undefined, number]) =>
    Array.isArray(list) &&
    list.length === 2 &&
    list.every((item) => Number.isSafeInteger(item) && item >= from && item < 2 ** 31);
  const sizes = [
    [kernel, 1],
    [stride, 1],
    [padding, 0],
    [dilation, 1],
    [size, 0],
  ] as const;
  const along = (d: number) => {
    const [ofKernel, ofStride, border, step, out] = sizes.map(([list]) => (list as Pair)[d]!);
    const own = {
      kernel: ofKernel!,
      stride: ofStride!,
      padding: border!,
      dilation: step!,
      out: out!,
    };
    return haveElements(x.shape[d + 2]!, own);
  };
  if (sizes.every(fits) && along(0) && along(1)) return;
  throw new ArgumentError({
    what: 'maxPool2d: not sizes of windows',
    given: JSON.stringify({ kernel, stride, padding, dilation, size }),
    expected:
      'pairs of integers, padding from 0 on, the others from 1 on, and an element in each window',
    remedy: 'check the options',
  });
}

export const maxPool2dOp = defineOp({
  name: 'maxPool2d',
  operands: { x: 'data' },
  attrs: { kernel: 'counts', stride: 'counts', padding: 'pair', dilation: 'counts', size: 'pair' },
  infer: (inputs, attrs) => {
    expectWindows(inputs[0]!, attrs);
    return inferPooled(inputs, attrs);
  },
  kernel: named('maxPool2d', poolsKernels.maxPool2d),
  rows: perEntry(),
  vjp: pooledVjp(({ size: _, ...windows }) => windows),
});

/**
 * Max pooling with uint8 positions relative to the start of each window, including padding. Only the optimizer
 * emits it, for positions below 256. Second-order gradients are those of `maxPool2d`.
 */
export const maxPool2dCodedOp = defineOp({
  name: 'maxPool2dCoded',
  operands: { x: 'data' },
  attrs: { kernel: 'counts', stride: 'counts', padding: 'pair', dilation: 'counts', size: 'pair' },
  infer: (inputs, attrs) => {
    expectWindows(inputs[0]!, attrs);
    return inferPooled(inputs, attrs, 'uint8');
  },
  fits: ([x], attrs) =>
    reachOf(x!, attrs) < 256 || 'windows that span at most 256 elements of a plane',
  kernel: named('maxPool2dCoded', poolsKernels.maxPool2dCoded),
  rows: perEntry(),
});

export const maxPool2dCodedGradOp = defineOp({
  name: 'maxPool2dCodedGrad',
  operands: { dy: 'data', codes: 'data', x: 'shape' },
  attrs: { kernel: 'counts', stride: 'counts', padding: 'pair', dilation: 'counts' },
  dtypes: { dy: 'floating', codes: 'uint8', x: 'ignored' },
  infer: ([dy, , x], attrs) => {
    expectWindows(x!, { ...attrs, size: dy!.shape.slice(2) });
    return { dtype: dy!.dtype, shape: x!.shape };
  },
  kernel: named('maxPool2dCodedGrad', poolsKernels.maxPool2dCodedGrad),
  rows: perEntry(),
});

/** Returns the distance in the plane from the first to the last element of a window. */
export function reachOf({ shape }: TensorMeta, { kernel, dilation }: Attrs): number {
  const [rows, columns] = kernel as Pair;
  const [rowStep, columnStep] = dilation as Pair;
  return (rows - 1) * rowStep * shape[3]! + (columns - 1) * columnStep;
}

export const adaptiveMaxPool2dOp = defineOp({
  name: 'adaptiveMaxPool2d',
  operands: { x: 'data' },
  attrs: { size: 'pair' },
  infer: (inputs, attrs) => inferPooled(inputs, attrs),
  kernel: named('adaptiveMaxPool2d', poolsKernels.adaptiveMaxPool2d),
  vjp: pooledVjp(() => ({})),
});

/** Returns `[values, int32 positions in the plane]`. */
interface Pooling<Size, Options> {
  (x: Tensor, size: Size, options: Options & { readonly returnIndices: true }): [Tensor, Tensor];
  (x: Tensor, size: Size, options?: Options): Tensor;
}

interface IndicesOption {
  readonly returnIndices?: boolean;
}

/** Runs the op on [n, c, h, w] made from `x`, whose last `count` dimensions are pooled. */
function pooled(
  op: typeof maxPool2dOp,
  x: Tensor,
  count: number,
  attrs: Attrs,
  returnIndices: boolean,
): Tensor | [Tensor, Tensor] {
  if (x.rank === 4 && count === 2) return results(bind(op, [x], attrs), returnIndices);
  return tidy(() => {
    const batched = x.rank === count + 1 ? unsqueeze(x, 0) : x;
    const plane = count === 1 ? unsqueeze(batched, 2) : batched;
    const found = bind(op, [plane], attrs);
    const size = attrs.size as readonly number[];
    const shape = [...x.shape.slice(0, -count), ...size.slice(2 - count)];
    return results(
      found.map((each) => reshape(each, shape)),
      returnIndices,
    );
  });
}

function results([out, indices]: readonly Tensor[], both: boolean): Tensor | [Tensor, Tensor] {
  if (both) return [out!, indices!];
  // Backward keeps its own reference to the indices; without gradients they are unused.
  indices!.dispose();
  return out!;
}

export interface MaxPoolOptions<Size = number | Pair> extends IndicesOption {
  /** Defaults to the window size. */
  readonly stride?: Size;
  /** Padding is never selected as the maximum. */
  readonly padding?: Size;
  /** Distance of the elements of a window, 1 by default. */
  readonly dilation?: Size;
  /** Whether the last window may extend past the end. */
  readonly ceilMode?: boolean;
}

const found = { returnIndices: flag };
const maxPoolOptions = {
  ...found,
  stride: judgedLater,
  padding: judgedLater,
  dilation: judgedLater,
  ceilMode: flag,
};

function maxPool<Size>(name: string, count: 1 | 2): Pooling<Size, MaxPoolOptions<Size>> {
  const pool = (x: Tensor, kernel: Size, options: MaxPoolOptions<Size> = {}) => {
    expectOptions(name, options, maxPoolOptions);
    const sizes = windowSizes(name, x, count, {
      kernel,
      stride: options.stride ?? kernel,
      padding: options.padding ?? 0,
      dilation: options.dilation ?? 1,
      ceilMode: options.ceilMode ?? false,
    });
    const trivial = { kernel: 1, stride: 1, padding: 0, dilation: 1, out: 1 };
    const [rows, columns] = count === 1 ? [trivial, sizes[0]!] : (sizes as [never, never]);
    const attrs = {
      kernel: [rows.kernel, columns.kernel],
      stride: [rows.stride, columns.stride],
      padding: [rows.padding, columns.padding],
      dilation: [rows.dilation, columns.dilation],
      size: [rows.out, columns.out],
    };
    return pooled(maxPool2dOp, x, count, attrs, options.returnIndices ?? false);
  };
  return pool as Pooling<Size, MaxPoolOptions<Size>>;
}

/** The maximum of each window of […, c, length]; the first element wins ties. */
export const maxPool1d = maxPool<number>('maxPool1d', 1);
/** The maximum of each window of […, c, h, w]; the first element wins ties. */
export const maxPool2d = maxPool<number | Pair>('maxPool2d', 2);

function adaptiveMaxPool<Size>(name: string, count: 1 | 2): Pooling<Size, IndicesOption> {
  const pool = (x: Tensor, size: Size, options: IndicesOption = {}) => {
    expectOptions(name, options, found);
    const sizes = pooledSize(name, x, count, size);
    const attrs = { size: count === 1 ? [1, ...sizes] : sizes };
    return pooled(adaptiveMaxPool2dOp, x, count, attrs, options.returnIndices ?? false);
  };
  return pool as Pooling<Size, IndicesOption>;
}

/** The maxima of equal parts of the last dimension, one part per entry of the result. */
export const adaptiveMaxPool1d = adaptiveMaxPool<number | readonly [number]>(
  'adaptiveMaxPool1d',
  1,
);
/** The maxima of equal parts of the last two dimensions; null keeps a size. */
export const adaptiveMaxPool2d = adaptiveMaxPool<number | readonly [number | null, number | null]>(
  'adaptiveMaxPool2d',
  2,
);
