/** Copies of a tensor with a region replaced: entries, slices, diagonals, masked elements. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { normalizeDim, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add } from '../arithmetic/arithmetic.ts';
import { expand } from '../core/broadcast.ts';
import { cast } from '../core/cast.ts';
import { scatter } from '../indexing/gather.ts';
import { mismatch } from '../indexing/index-operands.ts';
import { indexCopy, take } from '../indexing/indexing.ts';
import { narrow, reshape, unsqueeze } from '../movement/movement.ts';
import { arange } from '../movement/ranges.ts';
import { clipped, diagonal, expandTogether, sliceOf } from '../movement/views.ts';
import { isBelow, isInteger, plus } from '../numbers/number-arithmetic.ts';
import { clampMin } from '../pointwise/combining.ts';
import { where } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { cumsum } from '../reduce/scans.ts';

const places = (x: Tensor, start: number, count: number, step: number): Tensor =>
  arange(start, plus(start, count * step), step, { dtype: 'int32', device: x.device });

/** Returns a copy with entry `index` of `dim` replaced by `source`, which lacks that dimension. */
export function selectScatter(x: Tensor, source: Tensor, dim: number, index: number): Tensor {
  return naming('selectScatter', () => {
    expectTensors('selectScatter', x, source);
    expectNumber('selectScatter', 'index', index);
    const at = normalizeDim(dim, x.rank, 'selectScatter');
    const size = x.shape[at] ?? 0;
    const place = isBelow(index, 0) ? plus(index, size) : index;
    if (!isInteger(place) || isBelow(place, 0) || !isBelow(place, size)) {
      throw new ArgumentError({
        what: 'selectScatter: no such entry',
        given: `index ${index} in dimension ${at} of ${formatSpec(x)}`,
        expected: `an integer from ${-size} to ${size - 1}`,
        remedy: 'check the index and the dimension',
      });
    }
    return tidy(() => indexCopy(x, at, places(x, place, 1, 1), unsqueeze(source, at)));
  });
}

/** Returns a copy with `x.slice(dim, start, end, step)` replaced by `source`. */
export function sliceScatter(
  x: Tensor,
  source: Tensor,
  dim = 0,
  start: number | null = null,
  end: number | null = null,
  step = 1,
): Tensor {
  return naming('sliceScatter', () => {
    expectTensors('sliceScatter', x, source);
    const at = normalizeDim(dim, x.rank, 'sliceScatter');
    return tidy(() => {
      const part = sliceOf(x, at, start, end, step);
      if (!sameShape(part.shape, source.shape)) {
        throw mismatch('sliceScatter', [x, source], `a source of shape [${part.shape.join(',')}]`);
      }
      const first = clipped(start ?? 0, x.shape[at]!);
      return indexCopy(x, at, places(x, first, part.shape[at]!, step), source);
    });
  });
}

/** Returns a copy with a diagonal replaced by `source`. */
export function diagonalScatter(x: Tensor, source: Tensor, offset = 0, dim1 = 0, dim2 = 1): Tensor {
  return naming('diagonalScatter', () => {
    expectTensors('diagonalScatter', x, source);
    return tidy(() => {
      const part = diagonal(x, offset, dim1, dim2);
      if (!sameShape(part.shape, source.shape)) {
        throw mismatch(
          'diagonalScatter',
          [x, source],
          `a source of shape [${part.shape.join(',')}]`,
        );
      }
      const count = x.numel();
      const numbers = reshape(places(x, 0, count, 1), x.shape);
      const index = reshape(diagonal(numbers, offset, dim1, dim2), [part.numel()]);
      const flat = scatter(reshape(x, [count]), 0, index, reshape(source, [part.numel()]));
      return reshape(flat, x.shape);
    });
  });
}

/**
 * Returns the elements of `source`, in order, where the mask is true, and `x` elsewhere. `x` and mask broadcast; the
 * source has at least as many elements as the mask selects.
 */
export function maskedScatter(x: Tensor, mask: Tensor, source: Tensor): Tensor {
  return naming('maskedScatter', () => {
    expectTensors('maskedScatter', x, mask, source);
    return tidy(() => {
      const [target, test] = expandTogether('maskedScatter', x, mask);
      const chosen = cast(test, 'bool');
      if (target.numel() === 0) return add(target, 0);
      const order = add(cumsum(reshape(cast(chosen, 'int32'), [target.numel()]), 0), -1);
      // An empty source is valid if the mask selects nothing: its counts are then 0, an index of any element.
      const isEmpty = source.numel() === 0;
      const values = isEmpty ? expand(narrow(reshape(x, [x.numel()]), 0, 0, 1), [1]) : source;
      const places = isEmpty ? add(order, 1) : clampMin(order, 0);
      const found = reshape(take(values, places), target.shape);
      return where(chosen, cast(found, x.dtype), target);
    });
  });
}
