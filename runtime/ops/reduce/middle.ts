/** Medians. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { dtypes } from '../../spec/dtype.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { sub } from '../arithmetic/arithmetic.ts';
import { div, floorDivide } from '../arithmetic/division.ts';
import { isnan, logicalAnd, logicalNot, logicalOr } from '../arithmetic/logic.ts';
import { cast } from '../core/cast.ts';
import { gather } from '../indexing/gather.ts';
import { reshape, select, squeeze, unsqueeze } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { clamp } from '../pointwise/combining.ts';
import { eq, keepWhere, where } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectFlag } from '../record/positional.ts';
import { argmax } from './extremes.ts';
import { sort } from './order.ts';
import { expectEntries, sum, unreduce } from './reduce.ts';
import { any } from './statistics.ts';

type Chosen = [values: Tensor, indices: Tensor];

/** Maps a position in the sort order to the index in the row, kept as a dimension of size 1. */
type Place = (x: Tensor, order: Tensor, dim: number) => Tensor;

/** The lower of the two middle elements; the first NaN if there is one. */
const middle: Place = (x, order, dim) => {
  const half = select(order, dim, Math.max(0, (x.shape[dim]! - 1) >> 1));
  const missing = isnan(x);
  const found = any(missing, dim);
  return unsqueeze(where(found, argmax(cast(missing, 'int32'), dim), half), dim);
};

/** The middle of the elements before NaN, which sorts last. */
const middleOfNumbers: Place = (x, order, dim) => {
  const count = sum(logicalNot(isnan(x)), dim, { keepDim: true });
  return gather(order, dim, clamp(floorDivide(sub(count, 1), 2), 0));
};

function chosenBy(name: string, place: Place) {
  const along = (x: Tensor, dim: number, keepDim: boolean): Chosen =>
    tidy(() => {
      const at = normalizeDim(dim, x.rank, name);
      expectFlag(name, 'keepDim', keepDim);
      const operand = x.rank === 0 ? reshape(x, [1]) : x;
      expectEntries(name, operand, [at]);
      const indices = noGrad(() => place(operand, sort(operand, at)[1], at));
      const values = gather(operand, at, indices);
      if (x.rank === 0) return [reshape(values, []), reshape(indices, [])] as Chosen;
      if (keepDim) return [values, indices] as Chosen;
      return [squeeze(values, at), squeeze(indices, at)] as Chosen;
    });
  const ofAll = (x: Tensor): Tensor =>
    tidy(() => {
      if (x.numel() === 0 && dtypes[x.dtype].floating) return fullLike(x, NaN, { shape: [] });
      const flat = reshape(x, [x.numel()]);
      const value = noGrad(() => along(flat, 0, false)[0]);
      return x.requiresGrad ? sharedAmongEqual(flat, value) : value;
    });
  function chosen(x: Tensor): Tensor;
  function chosen(x: Tensor, dim: number, keepDim?: boolean): Chosen;
  function chosen(x: Tensor, dim?: number, keepDim = false): Tensor | Chosen {
    expectTensors(name, x);
    return dim === undefined ? ofAll(x) : along(x, dim, keepDim);
  }
  return chosen;
}

/** The mean of all elements equal to the value: the value itself, with a gradient shared among them. */
function sharedAmongEqual(flat: Tensor, value: Tensor): Tensor {
  const equal = noGrad(() => {
    const like = unreduce(value, flat, { dims: [0], keepDim: false });
    return logicalOr(eq(flat, like), logicalAnd(isnan(flat), isnan(like)));
  });
  return div(sum(keepWhere(flat, equal)), sum(equal));
}

/**
 * The median (the lower of two middle elements), NaN if there is one: of all elements, or `[values, indices]`
 * along a dimension. The median of an empty floating-point tensor is NaN.
 */
export const median = chosenBy('median', middle);
/** The median of the elements that are not NaN. */
export const nanmedian = chosenBy('nanmedian', middleOfNumbers);
