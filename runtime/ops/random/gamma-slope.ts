import * as slopeKernels from '../../device/cpu/scalar/gamma-slope.ts';
import { named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { AutogradError, ShapeError } from '../../errors/errors.ts';
import { sameShape } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { bind1 } from '../core/bind.ts';
import { inferBinary, inferFloat } from '../core/promotion.ts';
import { defineOp, saving } from '../record/define-op.ts';

const inferBoth = inferBinary('gammaSlope');
const inferFloating = inferFloat('gammaSlope');

function infer(operands: readonly TensorMeta[]) {
  const [x, alpha] = operands;
  if (!sameShape(x!.shape, alpha!.shape)) {
    throw new ShapeError({
      what: 'gammaSlope: operands of different shapes',
      given: `${formatSpec(x!)} and ${formatSpec(alpha!)}`,
      expected: 'one shape',
      remedy: 'expand the concentration to the shape of the sample',
    });
  }
  inferFloating(operands);
  return inferBoth(operands);
}

function refuseGradient(): never {
  throw new AutogradError({
    what: 'samples of gamma distributions have no second gradient',
    given: 'a gradient of the gradient of rsample()',
    expected: 'first gradients',
    remedy: 'leave createGraph out, or estimate the gradient from sample() and logProb()',
  });
}

export const gammaSlopeOp = defineOp({
  name: 'gammaSlope',
  operands: { x: 'data', alpha: 'data' },
  infer,
  kernel: named('gammaSlope', slopeKernels.gammaSlope),
  vjp: { x: saving({}, refuseGradient), alpha: saving({}, refuseGradient) },
});

/**
 * Returns how samples of gamma distributions with rate 1 move with their concentrations `alpha`, of the same shape
 * (implicit reparametrization: Figurnov, Mohamed and Mnih, 2018). Computed in float64.
 */
export const gammaSlope = (x: Tensor, alpha: Tensor): Tensor => bind1(gammaSlopeOp, [x, alpha]);
