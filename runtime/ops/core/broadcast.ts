/** Broadcasting and its inverse, each the other's gradient. */

import * as reductionsKernels from '../../device/cpu/reduce.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import {
  broadcastShapes,
  broadcastStrides,
  formatShape,
  type Shape,
  sameShape,
} from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { expectList, expectTensors } from '../record/expect-tensors.ts';
import { bind1 } from './bind.ts';

function expandedTo(x: TensorMeta, shape: Shape, op: string): TensorMeta {
  const areSizes = shape.every((size) => Number.isInteger(size) && size >= 0);
  if (!areSizes || !sameShape(broadcastShapes(x.shape, shape, op), shape)) {
    throw new ShapeError({
      what: `${op}: the tensor can't be expanded to the shape`,
      given: `${formatSpec(x)} to ${formatShape(shape)}`,
      expected: 'each dimension equal, or 1 in the tensor, counted from the last',
      remedy: 'reshape or unsqueeze the tensor first',
    });
  }
  const strides = broadcastStrides(x.shape, x.strides, shape);
  return { dtype: x.dtype, shape, strides, offset: x.offset, device: x.device };
}

export const expandOp = defineOp({
  name: 'expand',
  operands: { x: 'data' },
  attrs: { shape: 'sizes' },
  infer: ([x], { shape }) => ({ dtype: x!.dtype, shape: shape as Shape }),
  kernel: { kind: 'view', view: ([x], { shape }) => expandedTo(x!, shape as Shape, 'expand') },
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy) => sumTo(dy, x)) },
});

export const expandLikeOp = defineOp({
  name: 'expandLike',
  operands: { x: 'data', like: 'shape' },
  infer: ([x, like]) => ({ dtype: x!.dtype, shape: like!.shape }),
  kernel: { kind: 'view', view: ([x, like]) => expandedTo(x!, like!.shape, 'expandLike') },
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy) => sumTo(dy, x)) },
});

export const sumToOp = defineOp({
  name: 'sumTo',
  operands: { x: 'data', like: 'shape' },
  dtypes: { x: 'number', like: 'ignored' },
  infer: ([x, like]) => ({ dtype: x!.dtype, shape: like!.shape }),
  kernel: named('sumTo', reductionsKernels.sumTo),
  layout: 'any',
  vjp: { x: saving({ x: 'shape' }, ({ x }, dy) => expandLike(dy, x)) },
});

/** Repeats dimensions of size 1, and new leading ones, without copying; −1 keeps a dimension's size. */
export function expand(x: Tensor, shape: Shape): Tensor {
  expectTensors('expand', x);
  expectList('expand', 'sizes', shape);
  const lead = shape.length - x.rank;
  const target = shape.map((dim, i) => (dim === -1 ? (x.shape[i - lead] ?? dim) : dim));
  return sameShape(x.shape, target) ? x : bind1(expandOp, [x], { shape: target });
}

/** Expands to the shape of a tensor, whose meta alone is read. */
export function expandLike(x: Tensor, like: TensorMeta): Tensor {
  return sameShape(x.shape, like.shape) ? x : bind1(expandLikeOp, [x, like as Tensor]);
}

/** Sums over broadcast dimensions, so that the result has the shape of `like`. */
export function sumTo(x: Tensor, like: TensorMeta): Tensor {
  return sameShape(x.shape, like.shape) ? x : bind1(sumToOp, [x, like as Tensor]);
}
