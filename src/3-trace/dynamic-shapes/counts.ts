/** Counting functions in terms of ops; the program computes the number of counts. */

import { oneHot } from '../../../runtime/ops/advanced-indexing/embedding.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import { anyHalf, roundedOnce } from '../../../runtime/ops/core/rounded-once.ts';
import { indexAdd } from '../../../runtime/ops/indexing/indexing.ts';
import { full } from '../../../runtime/ops/movement/create.ts';
import { reshape } from '../../../runtime/ops/movement/movement.ts';
import { fullLike } from '../../../runtime/ops/movement/ranges.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import {
  add,
  clamp,
  div,
  eq,
  floor,
  gt,
  isnan,
  logicalOr,
  lt,
  maximum,
  mul,
  sub,
} from '../../../runtime/ops/pointwise/pointwise.ts';
import { countedInBins, histc } from '../../../runtime/ops/reduce/counting.ts';
import { amax, amin } from '../../../runtime/ops/reduce/extremes.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { sizeFrom } from './size-source.ts';

export function bincountInOps(x: Tensor, weights: Tensor | null = null, minLength = 0): Tensor {
  const bins = sizeFrom(() => {
    if (x.numel() === 0) return number(Math.max(minLength, 0));
    const values = cast(x, 'float64');
    const needed = maximum(add(amax(values), 1), number(minLength));
    return where(lt(amin(values), 0), -1, needed);
  }, minLength);
  return countedInBins(x, weights, bins);
}

export function oneHotInOps(indices: Tensor): Tensor {
  const classes = sizeFrom(() =>
    indices.numel() === 0 ? number(0) : maximum(add(amax(cast(indices, 'float64')), 1), number(0)),
  );
  return oneHot(indices, classes);
}

/**
 * `histc` over the range of the data. Its bounds are read, since for integers the dtype may not be able to represent
 * them.
 */
export function histcInOps(x: Tensor, bins = 100, min = 0, max = 0): Tensor {
  const { dtype } = x;
  if (!dtypes[dtype].floating) return histc(x, bins, min, max);
  if (x.numel() === 0) return histc(x, bins, min - 1, max + 1);
  if (anyHalf(x)) return roundedOnce([x], (converted) => histcInOps(converted, bins, min, max));
  const flat = reshape(x, [x.numel()]);
  const values = cast(flat, 'float64');
  const [least, most] = [amin(values), amax(values)];
  const isPoint = eq(least, most);
  const low = where(isPoint, sub(least, 1), least);
  const high = where(isPoint, add(most, 1), most);
  const perUnit = cast(div(number(bins), sub(high, low)), dtype);
  // Rounds like `histc` with numbers.
  const [from, to] = [cast(low, dtype), cast(high, dtype)];
  const isOutside = logicalOr(logicalOr(gt(from, flat), gt(flat, to)), isnan(flat));
  const place = floor(mul(sub(flat, from), perUnit));
  const bin = cast(clamp(where(isOutside, 0, place), 0, bins - 1), 'int32');
  return indexAdd(
    fullLike(flat, 0, { shape: [bins] }),
    0,
    bin,
    where(isOutside, 0, fullLike(flat, 1)),
  );
}

const number = (value: number): Tensor => full([], value, { dtype: 'float64' });
