import { naming } from '../../errors/naming.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add } from '../arithmetic/arithmetic.ts';
import { expand } from '../core/broadcast.ts';
import { gather } from '../indexing/gather.ts';
import { expectIndices } from '../indexing/index-operands.ts';
import { reshape } from '../movement/movement.ts';
import { lt, where } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';

/**
 * Like `gather` after broadcasting: sizes of 1 in `x` and `chosen` expand. Negative indices count from the end. Without
 * `dim`, selects from the flattened tensor.
 */
export function takeAlongDim(x: Tensor, chosen: Tensor, dim?: number): Tensor {
  return naming('takeAlongDim', () => {
    expectTensors('takeAlongDim', x, chosen);
    expectIndices('takeAlongDim', chosen);
    return tidy(() => {
      if (dim === undefined) return takeAlongDim(reshape(x, [-1]), reshape(chosen, [-1]), 0);
      const at = normalizeDim(dim, x.rank, 'takeAlongDim');
      const common = x.shape.map((size, d) => Math.max(size, chosen.shape[d] ?? 1));
      const shapeFor = (tensor: Tensor) =>
        common.map((size, d) => (d === at ? tensor.shape[d]! : size));
      const places = fromStart(chosen, x.shape[at] ?? 1);
      return gather(expand(x, shapeFor(x)), at, expand(places, shapeFor(chosen)));
    });
  });
}

const fromStart = (index: Tensor, size: number): Tensor =>
  index.dtype === 'int32' ? where(lt(index, 0), add(index, size), index) : index;
