/** Counting and searching: histograms, insertion points, distinct values. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { promote } from '../../spec/dtype.ts';
import { sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul, sub } from '../arithmetic/arithmetic.ts';
import { floor } from '../arithmetic/division.ts';
import { isnan, logicalNot, logicalOr } from '../arithmetic/logic.ts';
import { cast } from '../core/cast.ts';
import { joinedBy } from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { extremesOf, readNumbers } from '../indexing/data-dependent.ts';
import { expectIndices } from '../indexing/index-operands.ts';
import { indexAdd } from '../indexing/indexing.ts';
import { reshape, unsqueeze } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { equals, isBelow, minus, plus, quotient } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { clamp } from '../pointwise/combining.ts';
import { ge, gt, where } from '../pointwise/comparison.ts';
import { expectOperand, expectOptional, expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { sum } from './reduce.ts';

export interface SearchOptions {
  /** Whether insertion points come after equal values instead of before. */
  readonly right?: boolean;
}

/**
 * Returns for each of `values`, as int32, the number of sorted values before it. `sorted` is one vector for all,
 * or has the leading dimensions of `values`. NaN belongs at the end.
 */
export function searchsorted(
  sorted: Tensor,
  values: Tensor | number,
  options: SearchOptions = {},
): Tensor {
  expectOptions('searchsorted', options, { right: flag });
  const { right = false } = options;
  expectTensors('searchsorted', sorted);
  expectOperand('searchsorted', values);
  return tidy(() => {
    const own = isNumber(values)
      ? // Compares int32 exactly, even with bytes, which can't represent it.
        fullLike(sorted, values, {
          shape: [],
          dtype: joinedBy(promote(sorted.dtype, 'int32'), values),
        })
      : values;
    const lead = own.shape.slice(0, -1);
    if (sorted.rank === 0 || (sorted.rank > 1 && !sameShape(sorted.shape.slice(0, -1), lead))) {
      throw new ShapeError({
        what: "searchsorted: the shapes don't fit together",
        given: `${formatSpec(sorted)} for values ${formatSpec(own)}`,
        expected: 'one sorted vector, or as many as the values have rows',
        remedy: 'expand() the sorted values',
      });
    }
    const rows = sorted.rank === 1 ? sorted : unsqueeze(sorted, -2);
    const column = unsqueeze(own, -1);
    // Not (sorted ≥ value), so that a NaN value comes after everything.
    return sum(logicalNot(right ? gt(rows, column) : ge(rows, column)), -1);
  });
}

/** Returns the index of the interval, between sorted boundaries, that each value falls into. */
export function bucketize(x: Tensor, boundaries: Tensor, options: SearchOptions = {}): Tensor {
  return naming('bucketize', () => {
    expectTensors('bucketize', x, boundaries);
    expectOptions('bucketize', options, { right: flag });
    return searchsorted(boundaries, x, options);
  });
}

/** Returns the count of each non-negative integer in a vector, or the sum of its weights. Reads the data. */
export function bincount(x: Tensor, weights: Tensor | null = null, minLength = 0): Tensor {
  expectTensors('bincount', x);
  expectOptional('bincount', weights);
  expectNumber('bincount', 'minLength', minLength);
  if (x.dtype !== 'uint8') expectIndices('bincount', x);
  const { least, most } = extremesOf(readNumbers('bincount', x));
  const bins = least < 0 ? -1 : Math.max(minLength, most + 1, 0);
  return countedInBins(x, weights, bins);
}

/** Returns the count of each integer below `bins`, or the sum of its weights; `bins` is negative if any integer is. */
export function countedInBins(x: Tensor, weights: Tensor | null, bins: number): Tensor {
  if (x.rank !== 1 || bins < 0 || (weights && !sameShape(x.shape, weights.shape))) {
    throw new ArgumentError({
      what: 'bincount: nothing to count',
      given: `${formatSpec(x)}${weights ? ` with weights ${formatSpec(weights)}` : ''}`,
      expected: 'a vector of integers from 0 on, and as many weights',
      remedy: 'flatten() the tensors',
    });
  }
  return tidy(() => {
    const places = cast(x, 'int32');
    const source = weights ?? fullLike(places, 1);
    return indexAdd(fullLike(source, 0, { shape: [bins] }), 0, places, source);
  });
}

/**
 * Returns the number of elements in each of `bins` equal intervals from `min` to `max`, or of the data's range if both
 * are equal.
 */
export function histc(x: Tensor, bins = 100, min = 0, max = 0): Tensor {
  expectTensors('histc', x);
  for (const [name, value] of Object.entries({ bins, min, max }))
    expectNumber('histc', name, value);
  if (!Number.isInteger(bins) || bins < 1 || isBelow(max, min)) {
    throw new ArgumentError({
      what: 'histc: no intervals',
      given: `${bins} bins from ${min} to ${max}`,
      expected: 'an integer from 1 on, and min ≤ max',
      remedy: 'leave min and max out for the range of the data',
    });
  }
  if (anyHalf(x)) return roundedOnce([x], (converted) => histc(converted, bins, min, max));
  return tidy(() => {
    const flat = reshape(x, [x.numel()]);
    const ofData = equals(min, max);
    let [low, high] = [min, max];
    if (ofData && x.numel() > 0) {
      ({ least: low, most: high } = extremesOf(readNumbers('histc', flat)));
    }
    if (ofData && equals(low, high)) [low, high] = [minus(low, 1), plus(high, 1)];
    const outside = logicalOr(
      logicalOr(gt(fullLike(flat, low), flat), gt(flat, high)),
      isnan(flat),
    );
    const place = floor(mul(sub(flat, low), quotient(bins, minus(high, low))));
    const bin = cast(clamp(where(outside, 0, place), 0, bins - 1), 'int32');
    const counted = where(outside, 0, fullLike(flat, 1));
    return indexAdd(fullLike(flat, 0, { shape: [bins] }), 0, bin, counted);
  });
}
