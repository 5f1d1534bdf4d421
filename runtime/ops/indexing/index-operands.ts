/** Requirements on the index tensors of all indexing ops. */

import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { DTypeError, ShapeError } from '../../errors/errors.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { cast } from '../core/cast.ts';

export function expectIndices(op: string, index: TensorMeta): void {
  if (index.dtype === 'int32' || sizeOf(index.shape) === 0) return;
  throw new DTypeError({
    what: `${op}: indices must be integers`,
    given: formatSpec(index),
    expected: 'int32',
    remedy: "cast them: index.to('int32')",
  });
}

export function mismatch(op: string, metas: readonly TensorMeta[], expected: string): ShapeError {
  return new ShapeError({
    what: `${op}: the shapes don't fit together`,
    given: metas.map(formatSpec).join(', '),
    expected,
    remedy: 'check the dimension, and the shapes of the indices',
  });
}

/** Returns indices in the kernels' dtype; an empty index tensor may have any dtype, as in PyTorch. */
export const indices = (index: Tensor): Tensor =>
  index.numel() === 0 && index.dtype !== 'int32' ? cast(index, 'int32') : index;
