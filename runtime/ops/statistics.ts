/** Reductions that are made of others. */

import { noGrad } from '../autograd/grad-mode.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { abs, add, mul, sub } from './arithmetic.ts';
import { cast } from './cast.ts';
import { dropWhere, eq, gt, maskedFill, ne } from './comparison.ts';
import { div } from './division.ts';
import { amax, amin } from './extremes.ts';
import { exp, log } from './functions.ts';
import { isfinite, logicalNot } from './logic.ts';
import { reshape } from './movement.ts';
import { pow, sqrt } from './powers.ts';
import { floating } from './promotion.ts';
import { type Dims, mean, type ReduceOptions, sum } from './reduce.ts';

export interface VarianceOptions extends ReduceOptions {
  /** The sum of squares is divided by the number of elements less this. 1 when left out. */
  readonly correction?: number;
}

/** The mean squared distance from the mean, over all dimensions or `dims`. */
export function variance(x: Tensor, dims?: Dims, options: VarianceOptions = {}): Tensor {
  const { correction = 1, ...rest } = options;
  return tidy(() => {
    const distance = sub(x, mean(x, dims, { keepDim: true }));
    const total = sum(mul(distance, distance), dims, rest);
    const count = x.size / Math.max(total.size, 1);
    return div(total, Math.max(count - correction, 0));
  });
}

/** The root of the variance. */
export function std(x: Tensor, dims?: Dims, options: VarianceOptions = {}): Tensor {
  return tidy(() => sqrt(variance(x, dims, options)));
}

/** (Σ |x|^p)^(1/p); p may be Infinity (the largest), −Infinity (the smallest) and 0 (how many are not 0). */
export function norm(x: Tensor, p = 2, dims?: Dims, options: ReduceOptions = {}): Tensor {
  return tidy(() => {
    if (p === 2) return rootOfSum(sum(mul(x, x), dims, options));
    if (p === Infinity) return amax(abs(x), dims, options);
    if (p === -Infinity) return amin(abs(x), dims, options);
    if (p === 0) return sum(cast(ne(x, 0), floating(x.dtype)), dims, options);
    if (p === 1) return sum(abs(x), dims, options);
    return pow(sum(pow(abs(x), p), dims, options), 1 / p);
  });
}

/** At 0 the slope of the root is infinite; that of the norm counts as 0. */
function rootOfSum(squares: Tensor): Tensor {
  const zero = eq(squares, 0);
  return dropWhere(sqrt(maskedFill(squares, zero, 1)), zero);
}

/** ln Σ eˣ, without overflow. */
export function logsumexp(x: Tensor, dims: Dims, options: ReduceOptions = {}): Tensor {
  return tidy(() => {
    // The largest cancels, so it counts as a constant; an infinite one must not meet itself.
    const largest = noGrad(() => amax(x, dims, { keepDim: true }));
    const shift = dropWhere(largest, logicalNot(isfinite(largest)));
    const total = log(sum(exp(sub(x, shift)), dims, options));
    return add(total, reshape(shift, total.shape));
  });
}

/** How many elements are not 0, as int32. */
export function countNonzero(x: Tensor, dims?: Dims): Tensor {
  return tidy(() => sum(ne(x, 0), dims));
}

/** Whether some element is not 0. Of none: false. */
export function any(x: Tensor, dims?: Dims, options: ReduceOptions = {}): Tensor {
  return tidy(() => gt(sum(ne(x, 0), dims, options), 0));
}

/** Whether all elements are not 0. Of none: true. */
export function all(x: Tensor, dims?: Dims, options: ReduceOptions = {}): Tensor {
  return tidy(() => eq(sum(eq(x, 0), dims, options), 0));
}
