/** A tensor written into a larger constant tensor: the gradient of strided views. */

import { provideRegions } from '../../autograd/rebased-node.ts';
import { overlappingDim, provideViewOps } from '../../autograd/view-family.ts';
import * as rearrangeKernels from '../../device/cpu/movement/rearrange.ts';
import { deviceGuard } from '../../device/current.ts';
import { type Attrs, named } from '../../device/kernel-op.ts';
import { formatSpec, isContiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { invariant } from '../../errors/invariant.ts';
import {
  contiguousStrides,
  extentOf,
  formatShape,
  normalizeDim,
  type Shape,
  sizeOf,
} from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { addOp } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { expand, expandOp, sumTo } from '../core/broadcast.ts';
import { plus } from '../numbers/number-arithmetic.ts';
import { isSymbolic } from '../numbers/symbolic-number.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { full } from './create.ts';
import { contiguous, narrow, select } from './movement.ts';

/** A view's position in a contiguous tensor: strides and offset, in elements. */
interface Region {
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Whether elements with these strides fit; an offset that each run computes is checked at run time. */
function isPlaced(shape: Shape, strides: Shape, offset: number, elements: number): boolean {
  if (strides.length !== shape.length) return false;
  if (sizeOf(shape) === 0 || isSymbolic(offset)) return true;
  return offset + extentOf(shape, strides) <= elements;
}

export const asStridedOp = defineOp({
  name: 'asStrided',
  operands: { x: 'data' },
  attrs: { shape: 'sizes', strides: 'sizes', offset: 'size' },
  infer: ([x], { shape }) => ({ dtype: x!.dtype, shape: shape as Shape }),
  kernel: {
    kind: 'view',
    view: ([x], { shape, strides, offset }) => {
      invariant(isContiguousMeta(x!), 'asStrided of a strided tensor');
      return {
        dtype: x!.dtype,
        shape: shape as Shape,
        strides: strides as readonly number[],
        offset: plus(x!.offset, offset as number),
        device: x!.device,
      };
    },
  },
  numbers: ['offset'],
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy, attrs) => summedIn(x.shape, dy, regionOf(attrs))) },
});

export const placeOp = defineOp({
  name: 'place',
  operands: { x: 'data' },
  attrs: { shape: 'sizes', strides: 'sizes', offset: 'size', value: 'number' },
  fits: ([x], { shape, strides, offset }) =>
    isPlaced(x!.shape, strides as Shape, offset as number, sizeOf(shape as Shape)) ||
    'a region of the result',
  infer: ([x], { shape }) => ({ dtype: x!.dtype, shape: shape as Shape }),
  kernel: named('place', rearrangeKernels.place),
  numbers: ['offset', 'value'],
  layout: 'any',
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy, { strides, offset }) =>
      bind1(asStridedOp, [contiguous(dy)], { shape: x.shape, strides: strides!, offset: offset! }),
    ),
  },
});

export const placeIntoOp: OpRecord = defineOp({
  name: 'placeInto',
  operands: { x: 'data', source: 'data' },
  attrs: { strides: 'sizes', offset: 'size' },
  fits: ([x, source], { strides, offset }) =>
    isPlaced(source!.shape, strides as Shape, offset as number, sizeOf(x!.shape)) ||
    'a region of the operand',
  infer: ([x]) => ({ dtype: x!.dtype, shape: x!.shape }),
  kernel: named('placeInto', rearrangeKernels.placeInto),
  numbers: ['offset'],
  layout: 'any',
  vjp: {
    x: saving({ source: 'shape' }, ({ source }, dy, attrs) =>
      partReplaced(dy, null, { ...regionOf(attrs), shape: source.shape }),
    ),
    source: saving({ source: 'shape' }, ({ source }, dy, { strides, offset }) =>
      bind1(asStridedOp, [contiguous(dy)], {
        shape: source.shape,
        strides: strides!,
        offset: offset!,
      }),
    ),
  },
});

interface Part extends Region {
  readonly shape: Shape;
}

/** Returns a copy of the tensor with a region replaced, or zeroed. */
function partReplaced(x: Tensor, part: Tensor | null, { shape, strides, offset }: Part): Tensor {
  const source =
    part ??
    expand(
      deviceGuard(x.device, () => full([], 0, { dtype: x.dtype })),
      shape,
    );
  return bind1(placeIntoOp, [x, source], { strides, offset });
}

/** A view of a region of a contiguous tensor's memory; for other tensors, of a copy. */
export const asStrided = (x: Tensor, { shape, strides, offset }: Part): Tensor =>
  bind1(asStridedOp, [contiguous(x)], { shape, strides, offset });

provideRegions({ part: asStrided, replaced: partReplaced });
/** Its gradient derives the sizes before the repetition from dy: no value of a program has that shape. */
const repeatOp: OpRecord = {
  ...expandOp,
  vjp: {
    x: saving({}, (_saved, dy, { dims }) =>
      sumTo(
        dy,
        (dims as readonly number[]).reduce((like, dim) => narrow(like, dim, 0, 1), dy),
      ),
    ),
  },
};

provideViewOps({ asStrided: asStridedOp, repeat: repeatOp });

/** Returns a tensor of `shape` filled with 0, except for the region, to which `x` is added. */
function summedIn(shape: Shape, x: Tensor, { strides, offset }: Region): Tensor {
  const dim = overlappingDim(x.shape, strides);
  if (dim === undefined) return placed(x, shape, { strides, offset }, 0);
  const others = strides.filter((_, d) => d !== dim);
  const slices = Array.from({ length: x.shape[dim]! }, (_, i) =>
    summedIn(shape, select(x, dim, i), {
      strides: others,
      offset: plus(offset, i * strides[dim]!),
    }),
  );
  return slices.reduce((sum, slice) => bind1(addOp, [sum, slice]));
}

function regionOf({ strides, offset }: Attrs): Region {
  return { strides: strides as readonly number[], offset: offset as number };
}

/**
 * Returns a tensor of `shape` filled with `value`, except for the region, which contains `x`. The region's
 * elements must not overlap.
 */
export function placed(
  x: Tensor,
  shape: Shape,
  { strides, offset }: Region,
  value: number,
): Tensor {
  return bind1(placeOp, [x], { shape, strides, offset, value });
}

/** Adds `before` and `after` entries of `value` to each dimension; negative amounts crop. */
export function padConstant(
  x: Tensor,
  before: readonly number[],
  after: readonly number[],
  value: number,
): Tensor {
  const shape = x.shape.map((size, d) => size + before[d]! + after[d]!);
  const strides = contiguousStrides(shape);
  const offset = strides.reduce((sum, stride, d) => sum + stride * before[d]!, 0);
  return placed(x, shape, { strides, offset }, value);
}

/** Returns strides, offset and length of the diagonal `diagonal` over two dimensions. */
export function diagonalRegion(
  { shape, strides }: Pick<TensorMeta, 'shape' | 'strides'>,
  diagonal: number,
  dim1: number,
  dim2: number,
): Region & { readonly length: number } {
  const [rows, columns] = [shape[dim1]!, shape[dim2]!];
  const length = Math.max(
    0,
    diagonal >= 0 ? Math.min(rows, columns - diagonal) : Math.min(rows + diagonal, columns),
  );
  const others = strides.filter((_, d) => d !== dim1 && d !== dim2);
  const start = diagonal >= 0 ? diagonal * strides[dim2]! : -diagonal * strides[dim1]!;
  return {
    strides: [...others, strides[dim1]! + strides[dim2]!],
    offset: length === 0 ? 0 : start,
    length,
  };
}

/**
 * Returns zeros except for a diagonal over two new dimensions, by default the last ones, which contains the last
 * dimension of `x`.
 */
export function diagEmbed(x: Tensor, diagonal = 0, dim1 = -2, dim2 = -1): Tensor {
  expectTensors('diagEmbed', x);
  expectNumber('diagEmbed', 'diagonal', diagonal);
  if (x.rank === 0 || !Number.isInteger(diagonal)) {
    throw new ArgumentError({
      what: 'diagEmbed: no diagonal to fill',
      given: `${formatSpec(x)}, diagonal ${diagonal}`,
      expected: 'at least one dimension, and an integer for the diagonal',
      remedy: `reshape the tensor to ${formatShape([1])} first`,
    });
  }
  const rank = x.rank + 1;
  const a = normalizeDim(dim1, rank, 'diagEmbed');
  const b = normalizeDim(dim2, rank, 'diagEmbed');
  if (a === b) {
    throw new ArgumentError({
      what: 'diagEmbed: a diagonal needs two dimensions',
      given: `dimensions ${dim1} and ${dim2}`,
      expected: 'two different ones',
      remedy: 'leave them out for the last two',
    });
  }
  const side = x.shape.at(-1)! + Math.abs(diagonal);
  const others = x.shape.slice(0, -1);
  const shape = Array.from({ length: rank }, (_, d) =>
    d === a || d === b ? side : others[d - (d > a ? 1 : 0) - (d > b ? 1 : 0)]!,
  );
  const meta = { shape, strides: contiguousStrides(shape) };
  return placed(x, shape, diagonalRegion(meta, diagonal, a, b), 0);
}
