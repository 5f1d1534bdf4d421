import { mul_ } from '../ops/in-place/in-place.ts';
import { add, mul } from '../ops/pointwise/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Rates } from './optimizer.ts';

/** How a group's weights decay. */
export interface Decay {
  /** Shrinks the weights before the step, by 1 − lr·weightDecay, instead of adding to the gradient. */
  decoupledWeightDecay: boolean;
}

/**
 * Returns the gradient plus that of the L2 penalty ½·decay·‖p‖². If the decay is decoupled, it shrinks the
 * parameter instead.
 */
export function penalized(grad: Tensor, target: Tensor, group: Rates & Partial<Decay>): Tensor {
  const { lr, weightDecay, decoupledWeightDecay } = group;
  if (!(weightDecay > 0)) return grad;
  if (!decoupledWeightDecay) return add(grad, mul(target, weightDecay));
  mul_(target, 1 - lr * weightDecay);
  return grad;
}
