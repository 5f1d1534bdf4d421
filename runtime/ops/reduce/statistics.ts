/** Reductions composed of other reductions. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { naming } from '../../errors/naming.ts';
import { dtypes } from '../../spec/dtype.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { abs, add, mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { exp, log } from '../arithmetic/functions.ts';
import { isfinite, isnan, logicalNot } from '../arithmetic/logic.ts';
import { cast } from '../core/cast.ts';
import { floating } from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { reshape } from '../movement/movement.ts';
import { equals, isBelow, minus, quotient } from '../numbers/number-arithmetic.ts';
import { dropWhere, eq, gt, maskedFill, ne } from '../pointwise/comparison.ts';
import { type ClosenessOptions, isclose } from '../pointwise/pairs.ts';
import { pow, sqrt } from '../pointwise/powers.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { amax, amin } from './extremes.ts';
import {
  type DimOptions,
  type Dims,
  hasKeywords,
  mean,
  positional,
  type ReduceOptions,
  type SumOptions,
  sum,
  sumNames,
} from './reduce.ts';

export interface VarianceOptions extends ReduceOptions {
  /** The sum of squares is divided by the number of elements minus this. 1 by default. */
  readonly correction?: number;
}

/** Variance options including the dimensions. */
export type VarianceKeywords = VarianceOptions & DimOptions;

const varianceNames = ['keepDim', 'correction'] as const;

/** The variance over all dimensions or `dims`. */
export function variance(
  x: Tensor,
  dims?: Dims | VarianceKeywords,
  options: VarianceOptions | boolean = {},
): Tensor {
  expectTensors('variance', x);
  if (typeof options === 'boolean' || hasKeywords(dims, options, varianceNames)) {
    return variance(x, ...positional('var', dims, options, varianceNames));
  }
  if (anyHalf(x)) return roundedOnce([x], (converted) => variance(converted, dims, options));
  const { correction = 1, ...rest } = options;
  expectNumber('var', 'correction', correction);
  const computed = () => {
    const distance = sub(x, mean(x, dims, { keepDim: true }));
    const total = sum(mul(distance, distance), dims, rest);
    const count = x.numel() / Math.max(total.numel(), 1);
    return div(total, isBelow(correction, count) ? minus(count, correction) : 0);
  };
  return tidy(() => naming('var', computed));
}

/** The standard deviation. */
export function std(
  x: Tensor,
  dims?: Dims | VarianceKeywords,
  options: VarianceOptions | boolean = {},
): Tensor {
  return naming('std', () => {
    expectTensors('std', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options, varianceNames)) {
      return std(x, ...positional('std', dims, options, varianceNames));
    }
    if (anyHalf(x)) return roundedOnce([x], (converted) => std(converted, dims, options));
    return tidy(() => rootOfSum(variance(x, dims, options)));
  });
}

/** `[variance, mean]` */
export function varMean(
  x: Tensor,
  dims?: Dims | VarianceKeywords,
  options: VarianceOptions | boolean = {},
): [Tensor, Tensor] {
  return naming('varMean', () => {
    expectTensors('varMean', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options, varianceNames)) {
      return varMean(x, ...positional('varMean', dims, options, varianceNames));
    }
    const { correction: _, ...rest } = options;
    return [variance(x, dims, options), mean(x, dims, rest)];
  });
}

/** `[standard deviation, mean]` */
export function stdMean(
  x: Tensor,
  dims?: Dims | VarianceKeywords,
  options: VarianceOptions | boolean = {},
): [Tensor, Tensor] {
  return naming('stdMean', () => {
    expectTensors('stdMean', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options, varianceNames)) {
      return stdMean(x, ...positional('stdMean', dims, options, varianceNames));
    }
    const { correction: _, ...rest } = options;
    return [std(x, dims, options), mean(x, dims, rest)];
  });
}

/**
 * (Σ |x|^p)^(1/p); p may be Infinity (the maximum), −Infinity (the minimum) and 0 (the number of nonzero
 * elements). 'fro' is 2.
 */
export function vectorNorm(
  x: Tensor,
  p: number | 'fro' = 2,
  dims?: Dims | DimOptions,
  options: ReduceOptions | boolean = {},
): Tensor {
  return naming('norm', () => {
    expectTensors('norm', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options))
      return vectorNorm(x, p, ...positional('norm', dims, options));
    if (anyHalf(x)) return roundedOnce([x], (converted) => vectorNorm(converted, p, dims, options));
    if (p !== 'fro') expectNumber('norm', 'p', p);
    return tidy(() => {
      const floats = cast(x, floating(x.dtype));
      if (p === 'fro' || equals(p, 2)) return rootOfSum(sum(mul(floats, floats), dims, options));
      if (equals(p, Infinity)) return amax(abs(floats), dims, options);
      if (equals(p, -Infinity)) return amin(abs(floats), dims, options);
      if (equals(p, 0)) return sum(cast(ne(floats, 0), floats.dtype), dims, options);
      if (equals(p, 1)) return sum(abs(floats), dims, options);
      return powerNorm(abs(floats), p, dims, options);
    });
  });
}

/** At 0 the power's derivative is undefined or infinite, and is set to 0. */
function powerNorm(size: Tensor, p: number, dims: Dims, options: ReduceOptions): Tensor {
  if (isBelow(p, 0)) return pow(sum(pow(size, p), dims, options), quotient(1, p));
  const zero = eq(size, 0);
  const total = sum(dropWhere(pow(maskedFill(size, zero, 1), p), zero), dims, options);
  const none = eq(total, 0);
  return dropWhere(pow(maskedFill(total, none, 1), quotient(1, p)), none);
}

/** The norm of a difference; both broadcast. */
export function dist(x: Tensor, other: Tensor, p = 2): Tensor {
  return naming('dist', () => {
    expectTensors('dist', x, other);
    expectNumber('dist', 'p', p);
    if (anyHalf(x, other)) return roundedOnce([x, other], (a, b) => dist(a, b, p));
    return tidy(() => vectorNorm(sub(x, other), p));
  });
}

/** At 0 the root's derivative is infinite; the norm's is set to 0. */
function rootOfSum(squares: Tensor): Tensor {
  const zero = eq(squares, 0);
  return dropWhere(sqrt(maskedFill(squares, zero, 1)), zero);
}

/** ln Σ eˣ, without overflow. */
export function logsumexp(
  x: Tensor,
  dims: Dims | DimOptions,
  options: ReduceOptions | boolean = {},
): Tensor {
  return naming('logsumexp', () => {
    expectTensors('logsumexp', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options))
      return logsumexp(x, ...positional('logsumexp', dims, options));
    if (anyHalf(x)) return roundedOnce([x], (converted) => logsumexp(converted, dims, options));
    return tidy(() => {
      // The maximum cancels out, so it counts as constant; an infinite maximum must not be subtracted from itself.
      const floats = cast(x, floating(x.dtype));
      // The derivatives of ln 0 are infinite, those of a sum of no elements 0.
      if (x.numel() === 0) return add(sum(floats, dims, options), -Infinity);
      const largest = noGrad(() => amax(floats, dims, { keepDim: true }));
      const shift = dropWhere(largest, logicalNot(isfinite(largest)));
      const total = log(sum(exp(sub(floats, shift)), dims, options));
      return add(total, reshape(shift, total.shape));
    });
  });
}

/** The sum of the elements that are not NaN. */
export function nansum(
  x: Tensor,
  dims?: Dims | (SumOptions & DimOptions),
  options: SumOptions | boolean = {},
): Tensor {
  return naming('nansum', () => {
    expectTensors('nansum', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options, sumNames))
      return nansum(x, ...positional('nansum', dims, options, sumNames));
    return tidy(() => sum(dtypes[x.dtype].floating ? dropWhere(x, isnan(x)) : x, dims, options));
  });
}

/** The mean of the elements that are not NaN. */
export function nanmean(
  x: Tensor,
  dims?: Dims | DimOptions,
  options: ReduceOptions | boolean = {},
): Tensor {
  return naming('nanmean', () => {
    expectTensors('nanmean', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options))
      return nanmean(x, ...positional('nanmean', dims, options));
    if (anyHalf(x)) return roundedOnce([x], (converted) => nanmean(converted, dims, options));
    return tidy(() => div(nansum(x, dims, options), sum(logicalNot(isnan(x)), dims, options)));
  });
}

/** `[smallest, largest]` */
export function aminmax(
  x: Tensor,
  dims?: Dims | DimOptions,
  options: ReduceOptions | boolean = {},
): [Tensor, Tensor] {
  expectTensors('aminmax', x);
  if (typeof options === 'boolean' || hasKeywords(dims, options))
    return aminmax(x, ...positional('aminmax', dims, options));
  return naming('aminmax', () => [amin(x, dims, options), amax(x, dims, options)]);
}

/** The number of nonzero elements, as int32. */
export function countNonzero(x: Tensor, dims?: Dims): Tensor {
  return naming('countNonzero', () => {
    expectTensors('countNonzero', x);
    return tidy(() => sum(ne(x, 0), dims));
  });
}

/** Whether any element is nonzero; false if there are none. */
export function any(
  x: Tensor,
  dims?: Dims | DimOptions,
  options: ReduceOptions | boolean = {},
): Tensor {
  return naming('any', () => {
    expectTensors('any', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options))
      return any(x, ...positional('any', dims, options));
    return tidy(() => gt(sum(ne(x, 0), dims, options), 0));
  });
}

/** Whether all elements are nonzero; true if there are none. */
export function all(
  x: Tensor,
  dims?: Dims | DimOptions,
  options: ReduceOptions | boolean = {},
): Tensor {
  return naming('all', () => {
    expectTensors('all', x);
    if (typeof options === 'boolean' || hasKeywords(dims, options))
      return all(x, ...positional('all', dims, options));
    return tidy(() => eq(sum(eq(x, 0), dims, options), 0));
  });
}

/** Whether all elements are close according to `isclose`; a bool scalar. */
export function allclose(a: Tensor, b: Tensor, options: ClosenessOptions = {}): Tensor {
  return naming('allclose', () => {
    expectTensors('allclose', a, b);
    return tidy(() => all(isclose(a, b, options)));
  });
}
