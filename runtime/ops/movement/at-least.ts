/** Tensors with a minimum rank, or broadcast to a common shape. */

import { broadcastShapes, type Shape } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { expand } from '../core/broadcast.ts';
import { expectTensors, shapeOf } from '../record/expect-tensors.ts';
import { reshape } from './movement.ts';

/** A scalar becomes [1]; any other tensor is returned unchanged. */
export const atleast1d = (x: Tensor): Tensor =>
  shapeOf('atleast1d', x).length === 0 ? reshape(x, [1]) : x;

/** A scalar becomes [1, 1], a vector [1, n]; any other tensor is returned unchanged. */
export const atleast2d = (x: Tensor): Tensor =>
  shapeOf('atleast2d', x).length < 2 ? reshape(x, [1, x.shape[0] ?? 1]) : x;

/** A scalar becomes [1, 1, 1], a vector [1, n, 1], a matrix [m, n, 1]; any other tensor is returned unchanged. */
export function atleast3d(x: Tensor): Tensor {
  expectTensors('atleast3d', x);
  if (x.rank > 2) return x;
  return reshape(x, x.rank === 2 ? [...x.shape, 1] : [1, x.shape[0] ?? 1, 1]);
}

/** Returns views of all tensors in their common broadcast shape. Throws ShapeError if there is none. */
export function broadcastTensors(...tensors: readonly Tensor[]): Tensor[] {
  expectTensors('broadcastTensors', ...tensors);
  const shape = tensors.reduce<Shape>(
    (joint, x) => broadcastShapes(joint, x.shape, 'broadcastTensors'),
    [],
  );
  return tensors.map((x) => expand(x, shape));
}
