/**
 * Derivatives of partial products and of their gradient, for operands that may be 0: by doubling, in log₂ n steps,
 * instead of divisions. They are composed of ops, so they have derivatives of any order.
 */

import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul } from '../arithmetic/arithmetic.ts';
import { cat } from '../movement/joining.ts';
import { narrow } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';

/** A value and its derivative in one direction. */
interface Dual {
  readonly value: Tensor;
  readonly slope: Tensor;
}

const times = (a: Dual, b: Dual): Dual => ({
  value: mul(a.value, b.value),
  slope: add(mul(a.value, b.slope), mul(a.slope, b.value)),
});

const plus = (a: Dual, b: Dual): Dual => ({
  value: add(a.value, b.value),
  slope: add(a.slope, b.slope),
});

/** Moves entries along `dim` by `steps`, toward the end or, if negative, the start; fills the gap with `filler`. */
function moved(x: Tensor, dim: number, steps: number, filler: number): Tensor {
  const size = x.shape[dim]!;
  const count = Math.abs(steps);
  const shape = x.shape.map((each, d) => (d === dim ? count : each));
  const kept = narrow(x, dim, steps > 0 ? 0 : count, size - count);
  const filled = fullLike(x, filler, { shape });
  return cat(steps > 0 ? [filled, kept] : [kept, filled], dim);
}

/** Also moves the derivative, filling the gap with 0. */
const movedDual = ({ value, slope }: Dual, dim: number, steps: number, filler: number): Dual => ({
  value: moved(value, dim, steps, filler),
  slope: moved(slope, dim, steps, 0),
});

function partialProducts(x: Dual, dim: number): Dual {
  const size = x.value.shape[dim]!;
  let all = x;
  for (let step = 1; step < size; step *= 2) all = times(movedDual(all, dim, step, 1), all);
  return all;
}

/** The directional derivative along `g` of the partial products of `x` along `dim`. */
export function partialProductsSlope(x: Tensor, g: Tensor, dim: number): Tensor {
  return tidy(() => partialProducts({ value: x, slope: g }, dim).slope);
}

/**
 * The directional derivative along `g` of the gradient of partial products, whose entry k is the product before k times
 * rₖ, with rₖ = dyₖ + xₖ₊₁ · rₖ₊₁.
 */
export function partialProductsCurvature(dy: Tensor, x: Tensor, g: Tensor, dim: number): Tensor {
  return tidy(() => {
    const dual: Dual = { value: x, slope: g };
    const size = x.shape[dim]!;
    if (size === 0) return mul(x, g);
    const before = movedDual(partialProducts(dual, dim), dim, 1, 1);
    let factor = movedDual(dual, dim, -1, 1);
    let rest: Dual = { value: dy, slope: mul(dy, 0) };
    for (let step = 1; step < size; step *= 2) {
      rest = plus(rest, times(factor, movedDual(rest, dim, -step, 0)));
      factor = times(factor, movedDual(factor, dim, -step, 1));
    }
    return times(before, rest).slope;
  });
}
