import { mul_ } from '../ops/in-place/in-place.ts';
import { add, mul } from '../ops/pointwise/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Rates } from './optimizer.ts';

/** How a group's weights decay. */
export interface Decay {
  /** Multiplies the weights by 1 − lr·weightDecay before the step, instead of adding to the gradient. */
  decoupledWeightDecay: boolean;
}

/** Returns the gradient plus the gradient of the L2 penalty ½·decay·‖p‖². */
export function penalized(grad: Tensor, target: Tensor, { weightDecay }: Rates): Tensor {
  return weightDecay > 0 ? add(grad, mul(target, weightDecay)) : grad;
}

/** Applies a group's weight decay: to the parameter if decoupled, else to the gradient. Returns the gradient to use. */
export function decayed(grad: Tensor, target: Tensor, group: Rates & Decay): Tensor {
  const { lr, weightDecay, decoupledWeightDecay } = group;
  if (!decoupledWeightDecay) return penalized(grad, target, group);
  if (weightDecay > 0) mul_(target, 1 - lr * weightDecay);
  return grad;
}
