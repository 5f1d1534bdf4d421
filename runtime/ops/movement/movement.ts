/** Ops that move no data: new shapes and strides on the same holder. */

import * as copiesKernels from '../../device/cpu/movement/copies.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, isContiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { invariant } from '../../errors/invariant.ts';
import {
  contiguousStrides,
  formatShape,
  normalizeDim,
  normalizeDims,
  type Shape,
  sizeOf,
  viewStrides,
} from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { copy } from '../core/copy.ts';
import { isAtMost, isBelow, isInteger, plus, product } from '../numbers/number-arithmetic.ts';
import { isSymbolic } from '../numbers/symbolic-number.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { expectList, expectTensors, shapeOf } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';

function restrided(x: TensorMeta, shape: Shape, strides: readonly number[], offset = x.offset) {
  return { dtype: x.dtype, shape, strides, offset, device: x.device };
}

// Reshape

export const viewOp = defineOp({
  name: 'reshape',
  operands: { x: 'data' },
  attrs: { shape: 'sizes' },
  infer: ([x], { shape }) => ({ dtype: x!.dtype, shape: shape as Shape }),
  kernel: {
    kind: 'view',
    view: ([x], { shape }) => {
      const strides = viewStrides(x!.shape, x!.strides, shape as Shape);
      invariant(strides !== null, 'reshape of a tensor that has to be copied first');
      return restrided(x!, shape as Shape, strides);
    },
  },
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy) => reshapeLike(dy, x)) },
});

export const viewLikeOp = defineOp({
  name: 'reshapeLike',
  operands: { x: 'data', like: 'shape' },
  infer: ([x, like]) => ({ dtype: x!.dtype, shape: like!.shape }),
  kernel: {
    kind: 'view',
    view: ([x, like]) => restrided(x!, like!.shape, contiguousStrides(like!.shape)),
  },
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy) => reshapeLike(dy, x)) },
});

function reshapeLike(x: Tensor, like: TensorMeta): Tensor {
  return bind1(viewLikeOp, [contiguous(x), like as Tensor]);
}

/** Returns the tensor itself if it is contiguous, else a row-major copy. */
export function contiguous(x: Tensor): Tensor {
  expectTensors('contiguous', x);
  return isContiguousMeta(x) ? x : bind1(copy, [x]);
}

/** Returns a copy with its own memory. */
export function clone(x: Tensor): Tensor {
  expectTensors('clone', x);
  return bind1(copy, [x]);
}

/** Changes the shape; one dimension may be −1 and is inferred. A view if the strides allow it, else a copy. */
export function reshape(x: Tensor, shape: Shape): Tensor {
  expectTensors('reshape', x);
  const attrs = { shape: resolveShape(x, shape) };
  if (viewStrides(x.shape, x.strides, attrs.shape)) return bind1(viewOp, [x], attrs);
  return tidy(() => bind1(viewOp, [contiguous(x)], attrs));
}

/** Like `reshape`, but never copies: throws ShapeError if the strides don't allow a view. */
export function view(x: Tensor, shape: Shape): Tensor {
  const resolved = resolveShape(x, shape);
  if (viewStrides(x.shape, x.strides, resolved)) return bind1(viewOp, [x], { shape: resolved });
  throw new ShapeError({
    what: 'view: the memory has no such view',
    given: `${formatSpec(x)} with strides ${formatShape(x.strides)} as ${formatShape(resolved)}`,
    expected: 'dimensions that lie one after the other in memory',
    remedy: 'use reshape(), which copies where it must',
  });
}

/** Returns a view in the shape of `other`. */
export const viewAs = (x: Tensor, other: Tensor): Tensor => view(x, shapeOf('viewAs', other));

function resolveShape(x: Tensor, shape: Shape): Shape {
  expectList('reshape', 'sizes', shape);
  const unknown = shape.indexOf(-1);
  const known = sizeOf(shape.filter((_, i) => i !== unknown));
  const resolved =
    unknown < 0 ? shape : shape.map((dim, i) => (i === unknown ? x.numel() / known : dim));
  if (
    sizeOf(resolved) === x.numel() &&
    resolved.every((dim) => Number.isInteger(dim) && dim >= 0)
  ) {
    return resolved;
  }
  throw new ShapeError({
    what: 'reshape: the number of elements differs',
    given: `${formatSpec(x)} (${x.numel()} elements) to ${formatShape(shape)}`,
    expected: `a shape with ${x.numel()} elements, at most one dimension -1`,
    remedy: 'check the order and the sizes of the dimensions',
  });
}

/** Merges the dimensions from `startDim` to `endDim`. */
export function flatten(x: Tensor, startDim = 0, endDim = -1): Tensor {
  expectTensors('flatten', x);
  const start = normalizeDim(startDim, x.rank, 'flatten');
  const end = x.rank === 0 ? 0 : normalizeDim(endDim, x.rank, 'flatten') + 1;
  if (x.rank > 0 && end <= start) {
    throw new ArgumentError({
      what: 'flatten: the dimensions are in the wrong order',
      given: `startDim ${startDim}, endDim ${endDim} for ${formatSpec(x)}`,
      expected: 'startDim before endDim, or the same',
      remedy: 'swap them',
    });
  }
  const [before, joined, after] = [
    x.shape.slice(0, start),
    x.shape.slice(start, end),
    x.shape.slice(end),
  ];
  return reshape(x, [...before, sizeOf(joined), ...after]);
}

/** Returns a view with a dimension of size 1 before dimension `dim`. */
export function unsqueeze(x: Tensor, dim: number): Tensor {
  expectTensors('unsqueeze', x);
  const at = normalizeDim(dim, x.rank + 1, 'unsqueeze');
  return reshape(x, [...x.shape.slice(0, at), 1, ...x.shape.slice(at)]);
}

/** Removes all or the given dimensions of size 1. As in PyTorch, given dimensions of another size remain. */
export function squeeze(x: Tensor, dim?: number | readonly number[]): Tensor {
  expectTensors('squeeze', x);
  const dims = dim === undefined ? x.shape.map((_, i) => i) : [dim].flat();
  const at = normalizeDims(dims as number[], x.rank, 'squeeze');
  const shape = x.shape.filter((size, i) => size !== 1 || !at.includes(i));
  return shape.length === x.rank ? x : reshape(x, shape);
}

// Permute

export const permuteOp = defineOp({
  name: 'permute',
  operands: { x: 'data' },
  attrs: { dims: 'dims' },
  infer: ([x], { dims }) => ({
    dtype: x!.dtype,
    shape: (dims as readonly number[]).map((dim) => x!.shape[dim]!),
  }),
  kernel: {
    kind: 'view',
    view: ([x], { dims }) => {
      const order = dims as readonly number[];
      return restrided(
        x!,
        order.map((dim) => x!.shape[dim]!),
        order.map((dim) => x!.strides[dim]!),
      );
    },
  },
  vjp: {
    x: saving({}, (_saved, dy, { dims }) => {
      const order = dims as readonly number[];
      return permute(
        dy,
        order.map((_, i) => order.indexOf(i)),
      );
    }),
  },
});

/** Returns a view with the dimensions in another order. */
export function permute(x: Tensor, dims: readonly number[]): Tensor {
  expectTensors('permute', x);
  expectList('permute', 'dimensions', dims);
  const order = dims.map((dim) => normalizeDim(dim, x.rank, 'permute'));
  if (order.length !== x.rank || new Set(order).size !== x.rank) {
    throw new ArgumentError({
      what: 'permute: not an order of all dimensions',
      given: `${formatShape(dims)} for ${formatSpec(x)}`,
      expected: `each of the ${x.rank} dimensions once`,
      remedy: 'list every dimension in its new order',
    });
  }
  return bind1(permuteOp, [x], { dims: order });
}

/** Swaps two dimensions. */
export function transpose(x: Tensor, dim0: number, dim1: number): Tensor {
  expectTensors('transpose', x);
  const a = normalizeDim(dim0, x.rank, 'transpose');
  const b = normalizeDim(dim1, x.rank, 'transpose');
  const order = x.shape.map((_, i) => i);
  if (a === b) return permute(x, order);
  order[a] = b;
  order[b] = a;
  return permute(x, order);
}

// Narrow and select

export const narrowOp = defineOp({
  name: 'narrow',
  operands: { x: 'data' },
  attrs: { dim: 'dim', start: 'size', length: 'size' },
  infer: ([x], { dim, length }) => ({
    dtype: x!.dtype,
    shape: x!.shape.map((size, i) => (i === dim ? (length as number) : size)),
  }),
  kernel: {
    kind: 'view',
    view: ([x], { dim, start, length }) =>
      restrided(
        x!,
        x!.shape.map((size, i) => (i === dim ? (length as number) : size)),
        x!.strides,
        plus(x!.offset, product(start as number, x!.strides[dim as number]!)),
      ),
  },
  numbers: ['start'],
  vjp: {
    x: saving({ x: 'shape' }, ({ x }, dy, { dim, start }) =>
      bind1(narrowGradOp, [dy, x as Tensor], { dim: dim!, start: start! }),
    ),
  },
});

/** Whether `part` lies in `whole` from `start` on and equals it in all other dimensions. */
function isWithin(whole: Shape, part: Shape, dim: number, start: number): boolean {
  const isAlike = part.length === whole.length && part.every((n, d) => d === dim || n === whole[d]);
  return isAlike && (isSymbolic(start) || start + part[dim]! <= whole[dim]!);
}

export const narrowGradOp = defineOp({
  name: 'narrowGrad',
  operands: { dy: 'data', x: 'shape' },
  attrs: { dim: 'dim', start: 'size' },
  fits: ([dy, x], { dim, start }) =>
    isWithin(x!.shape, dy!.shape, dim as number, start as number) || 'a part of the operand',
  dtypes: { x: 'ignored' },
  infer: ([dy, x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: named('narrowGrad', copiesKernels.narrowGrad),
  numbers: ['start'],
  vjp: {
    dy: saving({ dy: 'shape' }, ({ dy }, g, { dim, start }) =>
      narrow(g, dim as number, start as number, dy.shape[dim as number]!),
    ),
  },
});

/** Returns `length` entries of dimension `dim` from `start` on; a negative start counts from the end. */
export function narrow(x: Tensor, dim: number, start: number, length: number): Tensor {
  expectTensors('narrow', x);
  expectNumber('narrow', 'start', start);
  expectNumber('narrow', 'length', length);
  const at = normalizeDim(dim, x.rank, 'narrow');
  const size = x.shape[at] ?? 0;
  const from = isBelow(start, 0) ? plus(start, size) : start;
  const isInside = isAtMost(0, from) && length >= 0 && isAtMost(from, size - length);
  if (!(isInteger(from) && isInside)) {
    throw new ArgumentError({
      what: 'narrow: the range leaves the dimension',
      given: `start ${start}, length ${length} in dimension ${at} of ${formatSpec(x)}`,
      expected:
        length > size
          ? `a length of at most ${size}`
          : `a start from ${-size} to ${size - Math.max(length, 0)}`,
      remedy: 'clip the range, for example to the last, shorter batch',
    });
  }
  return bind1(narrowOp, [x], { dim: at, start: from, length });
}

/** Returns entry `index` of dimension `dim`, removing that dimension. */
export function select(x: Tensor, dim: number, index: number): Tensor {
  expectTensors('select', x);
  expectNumber('select', 'index', index);
  const at = normalizeDim(dim, x.rank, 'select');
  const size = x.shape[at] ?? 0;
  const from = isBelow(index, 0) ? plus(index, size) : index;
  if (!isInteger(from) || isBelow(from, 0) || !isBelow(from, size)) {
    throw new ArgumentError({
      what: 'select: no such entry',
      given: `index ${index} in dimension ${at} of ${formatSpec(x)}`,
      expected: size === 0 ? 'a dimension with entries' : `an integer from ${-size} to ${size - 1}`,
      remedy: 'check the index and the dimension',
    });
  }
  return tidy(() => squeeze(narrow(x, at, from, 1), at));
}
