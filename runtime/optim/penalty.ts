import { mul_ } from '../ops/in-place/in-place.ts';
import { add, mul } from '../ops/pointwise/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Rates } from './optimizer.ts';

/** How a group's weights decay. */
export interface Decay {
  /** Shrinks the weights before the step, by 1 − lr·weightDecay, instead of adding to the gradient. */
  decoupledWeightDecay: boolean;
}

/** Returns the gradient plus that of the L2 penalty ½·decay·‖p‖². */
export function penalized(grad: Tensor, target: Tensor, { weightDecay }: Rates): Tensor {
  return weightDecay > 0 ? add(grad, mul(target, weightDecay)) : grad;
}

/** Decays a parameter by its gradient's penalty, or itself if the decay is decoupled. Returns the gradient. */
export function decayed(grad: Tensor, target: Tensor, group: Rates & Decay): Tensor {
  const { lr, weightDecay, decoupledWeightDecay } = group;
  if (!decoupledWeightDecay) return penalized(grad, target, group);
  if (weightDecay > 0) mul_(target, 1 - lr * weightDecay);
  return grad;
}
