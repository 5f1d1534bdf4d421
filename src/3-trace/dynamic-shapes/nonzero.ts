/** The nonzero elements of a mask in terms of ops: their positions and count. */

import { floorDivide, remainder } from '../../../runtime/ops/arithmetic/division.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import { scatter } from '../../../runtime/ops/indexing/gather.ts';
import { zeros } from '../../../runtime/ops/movement/create.ts';
import { stack } from '../../../runtime/ops/movement/joining.ts';
import { narrow, reshape } from '../../../runtime/ops/movement/movement.ts';
import { arange } from '../../../runtime/ops/movement/ranges.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import { sub } from '../../../runtime/ops/pointwise/pointwise.ts';
import { sum } from '../../../runtime/ops/reduce/reduce.ts';
import { cumsum } from '../../../runtime/ops/reduce/scans.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

const int32 = { dtype: 'int32' } as const;

/** Returns the row-major positions of nonzero elements, followed by arbitrary values, and their count. */
export function nonzeroIndices(mask: Tensor) {
  const length = mask.numel();
  const test = reshape(cast(mask, 'bool'), [length]);
  const ones = cast(test, 'int32');
  const before = sub(cumsum(ones, 0), ones);
  const to = where(test, before, length);
  const indices = scatter(zeros([length + 1], int32), 0, to, arange(length, int32));
  return { indices: narrow(indices, 0, 0, length), count: cast(sum(ones), 'float64') };
}

/** Returns the coordinates of positions in a tensor: int32 [rank, count]. */
export function coordinatesOf({ shape }: Tensor, indices: Tensor): Tensor {
  if (shape.length === 0) return zeros([0, indices.numel()], int32);
  let rest = indices;
  const rows: Tensor[] = [];
  for (const size of shape.slice(1).reverse()) {
    rows.push(remainder(rest, size));
    rest = floorDivide(rest, size);
  }
  return stack([rest, ...rows.reverse()]);
}
