/** More views: strided slices, diagonals, and permutations by other names. */

import type { Attrs } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectArguments } from '../../options/expect-options.ts';
import { oneOf } from '../../options/option-kinds.ts';
import {
  broadcastShapes,
  contiguousStrides,
  formatShape,
  normalizeDim,
  type Shape,
  sizeOf,
} from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { difference, isBelow, isInteger, plus, product } from '../numbers/number-arithmetic.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { expectList, expectTensorList, expectTensors, shapeOf } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { clone, permute, reshape, transpose } from './movement.ts';
import { diagEmbed, diagonalRegion, placed } from './place.ts';

export function replaced<T>(list: readonly T[], at: number, value: T): T[] {
  return list.map((each, i) => (i === at ? value : each));
}

// Slices with a step

export const sliceOp = defineOp({
  name: 'slice',
  operands: { x: 'data' },
  attrs: { dim: 'dim', start: 'size', step: 'count', length: 'size' },
  infer: ([x], { dim, length }) => ({
    dtype: x!.dtype,
    shape: replaced(x!.shape, dim as number, length as number),
  }),
  kernel: {
    kind: 'view',
    view: ([x], { dim, start, step, length }) => {
      const at = dim as number;
      const { dtype, shape, strides, offset, device } = x!;
      return {
        dtype,
        shape: replaced(shape, at, length as number),
        strides: replaced(strides, at, strides[at]! * (step as number)),
        offset: plus(offset, product(start as number, strides[at]!)),
        device,
      };
    },
  },
  numbers: ['start'],
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy, { dim, start, step }) => {
      const strides = contiguousStrides(x.shape);
      const stride = strides[dim as number]!;
      const region = {
        strides: replaced(strides, dim as number, stride * (step as number)),
        offset: dy.numel() === 0 ? 0 : product(start as number, stride),
      };
      return placed(dy, x.shape, region, 0);
    }),
  },
});

/** Clips a bound of a range to a dimension of `size` entries: 0 to `size`. */
export function clipped(index: number, size: number): number {
  const at = isBelow(index, 0) ? plus(index, size) : index;
  // Not Math.min and Math.max, which would specialize a program for the value of a symbolic number.
  if (!isBelow(0, at)) return 0;
  return isBelow(size, at) ? size : at;
}

/**
 * Returns entries `start`, `start + step`, … before `end` of a dimension: x[…, start:end:step, …]. Negative bounds
 * count from the end, and out-of-range bounds are clipped, as in Python.
 */
export function sliceOf(
  x: Tensor,
  dim: number,
  start: number | null = null,
  end: number | null = null,
  step = 1,
): Tensor {
  expectTensors('slice', x);
  expectNumber('slice', 'step', step);
  for (const bound of [start, end]) if (bound !== null) expectNumber('slice', 'bound', bound);
  const at = normalizeDim(dim, x.rank, 'slice');
  const bounds = [start ?? 0, end ?? 0, step];
  if (x.rank === 0 || step < 1 || !bounds.every(isInteger)) {
    throw new ArgumentError({
      what: 'slice: not a range of a dimension',
      given: `start ${start}, end ${end}, step ${step} in dimension ${at} of ${formatSpec(x)}`,
      expected: 'integers, a step from 1 on, and a tensor with dimensions',
      remedy: 'flip() gives the entries in reverse',
    });
  }
  const size = x.shape[at]!;
  const first = clipped(start ?? 0, size);
  const last = clipped(end ?? size, size);
  const length = Math.max(0, Math.ceil(difference(last, first) / step));
  return bind1(sliceOp, [x], { dim: at, start: length === 0 ? 0 : first, step, length });
}

// Diagonals

function diagonalShape(x: TensorMeta, { dim1, dim2, diagonal }: Attrs): Shape {
  const { length } = diagonalRegion(x, diagonal as number, dim1 as number, dim2 as number);
  return [...x.shape.filter((_, d) => d !== dim1 && d !== dim2), length];
}

export const diagonalOp = defineOp({
  name: 'diagonal',
  operands: { x: 'data' },
  attrs: { dim1: 'dim', dim2: 'dim', diagonal: 'whole' },
  infer: ([x], attrs) => ({ dtype: x!.dtype, shape: diagonalShape(x!, attrs) }),
  kernel: {
    kind: 'view',
    view: ([x], attrs) => {
      const { dim1, dim2, diagonal } = attrs as Readonly<Record<string, number>>;
      const { strides, offset } = diagonalRegion(x!, diagonal!, dim1!, dim2!);
      return {
        dtype: x!.dtype,
        shape: diagonalShape(x!, attrs),
        strides,
        offset: x!.offset + offset,
        device: x!.device,
      };
    },
  },
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy, attrs) => {
      const { dim1, dim2, diagonal } = attrs as Readonly<Record<string, number>>;
      const whole = { shape: x.shape, strides: contiguousStrides(x.shape) };
      return placed(dy, x.shape, diagonalRegion(whole, diagonal!, dim1!, dim2!), 0);
    }),
  },
});

/** Returns a diagonal over two dimensions as the new last dimension; positive offsets are above the main diagonal. */
export function diagonal(x: Tensor, offset = 0, dim1 = 0, dim2 = 1): Tensor {
  expectNumber('diagonal', 'offset', offset);
  expectTensors('diagonal', x);
  const a = normalizeDim(dim1, x.rank, 'diagonal');
  const b = normalizeDim(dim2, x.rank, 'diagonal');
  if (a === b || x.rank < 2 || !Number.isInteger(offset)) {
    throw new ArgumentError({
      what: 'diagonal: no such diagonal',
      given: `offset ${offset} over dimensions ${dim1} and ${dim2} of ${formatSpec(x)}`,
      expected: 'an integer offset and two different dimensions',
      remedy: 'check the dimensions',
    });
  }
  return bind1(diagonalOp, [x], { diagonal: offset, dim1: a, dim2: b });
}

/** Returns a copy of a matrix's diagonal, or the square matrix with a vector on its diagonal. */
export function diag(x: Tensor, offset = 0): Tensor {
  expectTensors('diag', x);
  if (x.rank === 1) return diagEmbed(x, offset);
  if (x.rank === 2) return naming('diag', () => tidy(() => clone(diagonal(x, offset))));
  throw new ShapeError({
    what: 'diag: neither a vector nor a matrix',
    given: formatSpec(x),
    expected: 'one or two dimensions',
    remedy: 'use diagonal() or diagEmbed() for batches',
  });
}

// Permutations by other names

/** Moves dimensions to new positions; the others keep their order. */
export function movedim(
  x: Tensor,
  source: number | readonly number[],
  destination: number | readonly number[],
): Tensor {
  expectTensors('movedim', x);
  const from = [source].flat().map((dim) => normalizeDim(dim as number, x.rank, 'movedim'));
  const to = [destination].flat().map((dim) => normalizeDim(dim as number, x.rank, 'movedim'));
  if (from.length !== to.length || new Set(from).size + new Set(to).size !== 2 * to.length) {
    throw new ArgumentError({
      what: 'movedim: not as many places as dimensions',
      given: `${formatShape(from)} to ${formatShape(to)}`,
      expected: 'each dimension once, and as many different places',
      remedy: 'list every dimension with its new place',
    });
  }
  const rest = x.shape.map((_, d) => d).filter((d) => !from.includes(d));
  const order = x.shape.map((_, d) => {
    const moved = to.indexOf(d);
    return moved >= 0 ? from[moved]! : rest.shift()!;
  });
  return permute(x, order);
}

/** Another name for `movedim`. */
export const moveaxis = movedim;

/** NumPy's name of `transpose`. */
export const swapaxes: typeof transpose = (x, dim0, dim1) => transpose(x, dim0, dim1);

/** Transposes a matrix; returns vectors and scalars unchanged. */
export function t(x: Tensor): Tensor {
  expectTensors('t', x);
  if (x.rank < 2) return x;
  if (x.rank === 2) return transpose(x, 0, 1);
  throw new ShapeError({
    what: 't: not a matrix',
    given: formatSpec(x),
    expected: 'at most two dimensions',
    remedy: 'use x.mT for batches of matrices, or permute()',
  });
}

/** Swaps the last two dimensions: `x.mT`. */
export function matrixTranspose(x: Tensor): Tensor {
  return transpose(x, -2, -1);
}

/** Reverses all dimensions: `x.T`. */
export function reversed(x: Tensor): Tensor {
  return permute(x, x.shape.map((_, d) => d).reverse());
}

/** Splits one dimension into several with the same product; one of them may be −1. */
export function unflatten(x: Tensor, dim: number, sizes: Shape): Tensor {
  expectTensors('unflatten', x);
  const at = normalizeDim(dim, x.rank, 'unflatten');
  expectList('unflatten', 'sizes', sizes);
  const size = x.shape[at] ?? 1;
  const known = sizeOf(sizes.filter((each) => each !== -1));
  const resolved = sizes.map((each) => (each === -1 ? size / known : each));
  if (sizeOf(resolved) !== size || !resolved.every((each) => Number.isInteger(each) && each >= 0)) {
    throw new ShapeError({
      what: "unflatten: the sizes don't multiply to the dimension",
      given: `${formatShape(sizes)} for dimension ${at} of ${formatSpec(x)}`,
      expected: `sizes with the product ${size}, at most one of them -1`,
      remedy: 'check the sizes and the dimension',
    });
  }
  return reshape(x, [...x.shape.slice(0, at), ...resolved, ...x.shape.slice(at + 1)]);
}

/** NumPy's name of `expand`. */
export const broadcastTo: typeof expand = (x, shape) => expand(x, shape);

export function expandAs(x: Tensor, other: Tensor): Tensor {
  return expand(x, shapeOf('expandAs', other));
}

/**
 * Expands vectors to coordinates of a grid: with `indexing` 'ij' the first one varies along dimension 0, with 'xy'
 * the first two are swapped.
 */
export function meshgrid(tensors: readonly Tensor[], indexing: 'ij' | 'xy' = 'ij'): Tensor[] {
  expectTensorList('meshgrid', tensors);
  expectArguments('meshgrid', { indexing }, { indexing: oneOf('ij', 'xy') });
  const shape = tensors.map((x) => x.numel());
  const swapped = indexing === 'xy' && tensors.length > 1;
  return tensors.map((x, i) =>
    tidy(() => {
      const reshaped = reshape(
        x,
        shape.map((size, d) => (d === i ? size : 1)),
      );
      const grid = expand(reshaped, shape);
      return swapped ? transpose(grid, 0, 1) : grid;
    }),
  );
}

/** Returns both tensors in their common broadcast shape. */
export function expandTogether(name: string, a: Tensor, b: Tensor): [Tensor, Tensor] {
  const shape = broadcastShapes(a.shape, b.shape, name);
  return [expand(a, shape), expand(b, shape)];
}
