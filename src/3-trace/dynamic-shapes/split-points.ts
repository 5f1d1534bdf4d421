import { tensorSplit, unbind } from '../../../runtime/ops/arranging/splitting.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { sizeFrom, sizesFrom } from './size-source.ts';

/** `tensorSplit` at indices, or into a number of pieces, that the program computes. */
export function tensorSplitInOps(x: Tensor, indices: Tensor, dim?: number): Tensor[] {
  const numbers = () => cast(indices, 'float64');
  if (indices.rank === 0) return tensorSplit(x, sizeFrom(numbers), dim);
  const points = sizesFrom(() => unbind(numbers()));
  return tensorSplit(x, points, dim);
}
