/** Quantiles, of all elements or without NaN. */

import { noGrad } from '../../autograd/grad-mode.ts';
import {
  canBeOptions,
  expectOptions,
  type OptionKinds,
  wrongValue,
} from '../../options/expect-options.ts';
import { isTensor } from '../../options/is-tensor.ts';
import { flag, judgedLater, oneOf } from '../../options/option-kinds.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { ceil, floor, round } from '../arithmetic/division.ts';
import { isnan, logicalNot } from '../arithmetic/logic.ts';
import { expand } from '../core/broadcast.ts';
import { cast } from '../core/cast.ts';
import { floating } from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { gather } from '../indexing/gather.ts';
import { stack } from '../movement/joining.ts';
import { reshape, select, unsqueeze } from '../movement/movement.ts';
import { movedim } from '../movement/views.ts';
import {
  equals,
  isAtMost,
  isBelow,
  minus,
  nearestFloat32,
  product,
  quotient,
  wholeAbove,
  wholeBelow,
} from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { clamp } from '../pointwise/combining.ts';
import { eq, maskedFill, where } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { sort } from './order.ts';
import { expectEntries, sum } from './reduce.ts';
import { any } from './statistics.ts';

/** How a quantile is computed from the two elements next to its position. */
export type Interpolation = 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest';

export interface QuantileOptions {
  /** The dimension to reduce; all elements if omitted or null. */
  readonly dim?: number | null | undefined;
  /** Keeps the reduced dimension, or all of them, with size 1. */
  readonly keepDim?: boolean;
  /** 'linear' by default; 'nearest' rounds half to the even position. */
  readonly interpolation?: Interpolation;
}

const kinds: OptionKinds<QuantileOptions> = {
  dim: judgedLater,
  keepDim: flag,
  interpolation: oneOf('linear', 'lower', 'higher', 'midpoint', 'nearest'),
};

/** One number, several, or a tensor with at most one dimension: each from 0 to 1. */
type Shares = number | readonly number[] | Tensor;

function quantileOf(name: string, withoutNaN: boolean) {
  return (
    x: Tensor,
    q: Shares,
    dim?: number | null | QuantileOptions,
    options: boolean | QuantileOptions = {},
  ): Tensor => {
    expectTensors(name, x);
    expectShares(name, q);
    const merged: QuantileOptions = {
      ...(canBeOptions(dim) && !isNumber(dim) ? dim : { dim }),
      ...(canBeOptions(options) ? options : { keepDim: options }),
    };
    expectOptions(name, merged, kinds);
    return found(name, withoutNaN, x, q, merged);
  };
}

function expectShares(name: string, q: Shares): void {
  const isShare = (share: number) => isNumber(share) && isAtMost(0, share) && isAtMost(share, 1);
  const fits = isTensor(q)
    ? (q as Tensor).rank < 2
    : Array.isArray(q)
      ? q.length > 0 && q.every(isShare)
      : isShare(q as number);
  if (!fits) throw wrongValue(name, 'q', q, 'a number from 0 to 1, or an array or vector of them');
}

function found(
  name: string,
  withoutNaN: boolean,
  x: Tensor,
  q: Shares,
  options: QuantileOptions,
): Tensor {
  if (anyHalf(x)) {
    return roundedOnce([x], (converted) => found(name, withoutNaN, converted, q, options));
  }
  const { dim = null, keepDim = false, interpolation = 'linear' } = options;
  return tidy(() => {
    const at = dim === null ? 0 : normalizeDim(dim, x.rank, name);
    const flat = dim === null || x.rank === 0;
    const all = cast(x, floating(x.dtype));
    const flattened = flat ? reshape(all, [x.numel()]) : all;
    expectEntries(name, flattened, [at]);
    const values = sort(flattened, at)[0];
    const last = withoutNaN ? lastNumber(flattened, at) : flattened.shape[at]! - 1;
    const chosen = chosenFrom(values, at, last, q, interpolation);
    const result = withoutNaN ? chosen : maskedFill(chosen, any(isnan(flattened), at), Number.NaN);
    if (!keepDim) return result;
    const several = result.shape.length - flattened.rank + 1;
    if (!flat) return unsqueeze(result, several + at);
    return reshape(result, [...result.shape.slice(0, several), ...x.shape.map(() => 1)]);
  });
}

/** The position, in sorted order, of the last element that is not NaN, or 0; keeps the dimension with size 1. */
const lastNumber = (x: Tensor, dim: number): Tensor =>
  noGrad(() => clamp(sub(cast(sum(logicalNot(isnan(x)), dim, { keepDim: true }), x.dtype), 1), 0));

/** Returns quantiles of sorted values; several are stacked along a new first dimension. */
function chosenFrom(
  values: Tensor,
  dim: number,
  last: number | Tensor,
  q: Shares,
  interpolation: Interpolation,
): Tensor {
  const one = (share: number): Tensor =>
    isNumber(last)
      ? atPlace(values, dim, product(share, last), interpolation)
      : select(atPlaces(values, dim, mul(last, share), interpolation), dim, 0);
  if (isNumber(q)) return one(q);
  if (Array.isArray(q)) return stack((q as readonly number[]).map(one));
  const shares = q as Tensor;
  const along = values.shape.map((_, d) => (d === dim ? shares.numel() : 1));
  const places = mul(reshape(cast(shares, values.dtype), along), last);
  const chosen = atPlaces(values, dim, places, interpolation);
  return shares.rank === 0 ? select(chosen, dim, 0) : movedim(chosen, dim, 0);
}

/** Returns the quantile at one position for all rows, without the dimension. */
function atPlace(values: Tensor, dim: number, exact: number, interpolation: Interpolation): Tensor {
  // Rounded as in PyTorch, so that quantile 0.29 of 101 values is the one at 29. Interpolation is more accurate
  // unrounded.
  const isRounded = interpolation !== 'linear' && values.dtype !== 'float64';
  const position = isRounded ? nearestFloat32(exact) : exact;
  const below = wholeBelow(position);
  const low = () => select(values, dim, below);
  const high = () => select(values, dim, wholeAbove(position));
  const share = minus(position, below);
  if (interpolation === 'lower' || equals(share, 0)) return low();
  if (interpolation === 'higher') return high();
  if (interpolation !== 'nearest') {
    const from = low();
    return add(from, mul(sub(high(), from), interpolation === 'midpoint' ? 0.5 : share));
  }
  const isEven = () => equals(product(wholeBelow(quotient(below, 2)), 2), below);
  return isBelow(share, 0.5) || (equals(share, 0.5) && isEven()) ? low() : high();
}

/**
 * Returns the quantiles at positions in a tensor: the dimension gets the size of `places`, whose other dimensions
 * broadcast.
 */
function atPlaces(
  values: Tensor,
  dim: number,
  places: Tensor,
  interpolation: Interpolation,
): Tensor {
  const shape = values.shape.map((size, d) => (d === dim ? places.shape[d]! : size));
  const at = (index: Tensor) => gather(values, dim, expand(cast(index.detach(), 'int32'), shape));
  const below = floor(places);
  // Reads both in any case, so that a number outside [0, 1] is an invalid index.
  const [low, high] = [at(below), at(ceil(places))];
  if (interpolation === 'lower') return low;
  if (interpolation === 'higher') return high;
  if (interpolation === 'nearest') return where(eq(round(places), below), low, high);
  const share = interpolation === 'midpoint' ? 0.5 : sub(places, below);
  // If both are the same element, an infinite value must not become NaN.
  return where(eq(places, below), low, add(low, mul(sub(high, low), share)));
}

/**
 * The `q`-quantile along a dimension, or of all elements; NaN if any is NaN. `q` is a number in [0, 1], or an array or
 * vector of them: their quantiles are then the first dimension of the result. A half-precision tensor keeps its dtype;
 * integers become float32. Throws ArgumentError for a number outside [0, 1]; in a tensor it is an index out of range.
 */
export const quantile = quantileOf('quantile', false);

/** Like `quantile`, of the elements that are not NaN; NaN if there are none. */
export const nanquantile = quantileOf('nanquantile', true);
