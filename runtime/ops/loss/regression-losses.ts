/** Regression losses. */

import { noGrad } from '../../autograd/grad-mode.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { promote } from '../../spec/dtype.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { abs, add, mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { exp, log } from '../arithmetic/functions.ts';
import { bind1 } from '../core/bind.ts';
import { sumTo } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import { floating, inferBinary, pointwise } from '../core/promotion.ts';
import { E } from '../expr/expr.ts';
import { clamp_ } from '../in-place/pointwise-in-place.ts';
import { clone, unsqueeze } from '../movement/movement.ts';
import { equals } from '../numbers/number-arithmetic.ts';
import { clamp, clampMin } from '../pointwise/combining.ts';
import { gt, keepWhere } from '../pointwise/comparison.ts';
import { defineOp, expectTensor, type OpRecord, saving } from '../record/define-op.ts';
import type { LossOptions } from '../reduce/reduction-options.ts';
import { gaussianKinds, huberKinds, lossKinds, poissonKinds, smoothL1Kinds } from './loss-kinds.ts';
import { lossOf } from './loss-of.ts';
import { warnOfSizes } from './unequal-sizes.ts';

function floats(op: OpRecord, x: Tensor, y: Tensor, attrs = {}): Tensor {
  expectTensor(op, y);
  const dtype = floating(promote(x.dtype, y.dtype));
  return casting([x, y], dtype, (operands) => bind1(op, operands, attrs));
}

const gap = E.sub(E.input(0), E.input(1));

/** |x − target| */
export function l1Loss(x: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  return naming('l1Loss', () => {
    return lossOf('l1Loss', lossKinds, [x, target], options, (x, target) => {
      warnOfSizes('l1Loss', x, target);
      return abs(sub(x, target));
    });
  });
}

const beta = E.attr('beta');
const size = E.abs(gap);
const slope = (x: Tensor, y: Tensor, beta: number) => clamp(div(sub(x, y), beta), -1, 1);

export const smoothL1Op: OpRecord = defineOp({
  name: 'smoothL1',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('smoothL1Loss'),
  kernel: pointwise(
    E.select(
      E.lt(size, beta),
      E.div(E.mul(E.const(0.5), E.mul(size, size)), beta),
      E.sub(size, E.mul(E.const(0.5), beta)),
    ),
  ),
  vjp: {
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy, { beta }) =>
      sumTo(mul(dy, slope(x, y, beta as number)), x),
    ),
    y: saving({ x: 'value', y: 'value' }, ({ x, y }, dy, { beta }) =>
      sumTo(mul(dy, slope(y, x, beta as number)), y),
    ),
  },
});

/** Quadratic below `beta`, linear above: half the square over beta, then |x − target| − beta/2. */
export function smoothL1Loss(
  x: Tensor,
  target: Tensor,
  options: LossOptions & { readonly beta?: number } = {},
): Tensor {
  return lossOf('smoothL1Loss', smoothL1Kinds, [x, target], options, (x, target) => {
    warnOfSizes('smoothL1Loss', x, target);
    const { beta = 1 } = options;
    return equals(beta, 0) ? abs(sub(x, target)) : floats(smoothL1Op, x, target, { beta });
  });
}

/** Half the square below `delta`, delta · (|x − target| − delta/2) above. */
export function huberLoss(
  x: Tensor,
  target: Tensor,
  options: LossOptions & { readonly delta?: number } = {},
): Tensor {
  return naming('huberLoss', () => {
    return lossOf('huberLoss', huberKinds, [x, target], options, (x, target) => {
      warnOfSizes('huberLoss', x, target);
      const { delta = 1 } = options;
      return mul(floats(smoothL1Op, x, target, { beta: delta }), delta);
    });
  });
}

export interface PoissonNllOptions extends LossOptions {
  /** Whether x is the logarithm of the rate. True by default. */
  readonly logInput?: boolean;
  /** Adds Stirling's approximation of ln(target!). */
  readonly full?: boolean;
  /** Added to the rate before taking its logarithm. */
  readonly eps?: number;
}

/** The negative log likelihood of `target` under a Poisson distribution, up to a constant. */
export function poissonNllLoss(x: Tensor, target: Tensor, options: PoissonNllOptions = {}): Tensor {
  return naming('poissonNllLoss', () => {
    return lossOf('poissonNllLoss', poissonKinds, [x, target], options, (x, target) => {
      const { logInput = true, full = false, eps = 1e-8 } = options;
      const losses = logInput ? sub(exp(x), mul(target, x)) : sub(x, mul(target, log(add(x, eps))));
      return full ? add(losses, stirling(target)) : losses;
    });
  });
}

function stirling(target: Tensor): Tensor {
  const half = mul(log(mul(target, 2 * Math.PI)), 0.5);
  return keepWhere(add(sub(mul(target, log(target)), target), half), gt(target, 1));
}

export interface GaussianNllOptions extends LossOptions {
  /** Adds the constant term. */
  readonly full?: boolean;
  /** The lower bound of the variance. */
  readonly eps?: number;
}

/** The negative log likelihood under a normal distribution with mean x; `variance` is shaped like x, or one per row. */
export function gaussianNllLoss(
  x: Tensor,
  target: Tensor,
  variance: Tensor,
  options: GaussianNllOptions = {},
): Tensor {
  return naming('gaussianNllLoss', () => {
    const operands = [x, target, variance] as const;
    return lossOf('gaussianNllLoss', gaussianKinds, operands, options, (x, target, variance) => {
      const { full = false, eps = 1e-6 } = options;
      const fitting = clone(fittingVariance(x, variance));
      // Small variances are clamped, but their gradient is that of the original values, as in PyTorch.
      noGrad(() => clamp_(fitting, eps));
      const gap = sub(x, target);
      const losses = mul(add(log(fitting), div(mul(gap, gap), fitting)), 0.5);
      const constant = 0.5 * Math.log(2 * Math.PI);
      return full ? add(losses, constant) : losses;
    });
  });
}

function fittingVariance(x: Tensor, variance: Tensor): Tensor {
  const sameShape = (shape: readonly number[]) =>
    shape.length === variance.rank && shape.every((size, d) => size === variance.shape[d]);
  if (sameShape(x.shape)) return variance;
  const rows = x.shape.slice(0, -1);
  if (x.rank > 0 && sameShape(rows)) return unsqueeze(variance, -1);
  if (x.rank > 0 && sameShape([...rows, 1])) return variance;
  throw new ShapeError({
    what: "gaussianNllLoss: the variance doesn't fit",
    given: `variance ${formatSpec(variance)} for ${formatSpec(x)}`,
    expected: 'the shape of x, without its last dimension or with 1 there',
    remedy: 'expand() the variance',
  });
}

/** Returns margin − product, clamped at 0, for losses on signs. */
export const aboveMargin = (scores: Tensor, margin: number): Tensor =>
  clampMin(add(neg(scores), margin), 0);
