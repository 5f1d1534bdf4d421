import { add, mul } from '../ops/pointwise/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Rates } from './optimizer.ts';

/** Returns the gradient plus that of the L2 penalty ½·decay·‖p‖². */
export function penalized(grad: Tensor, target: Tensor, { weightDecay }: Rates): Tensor {
  return weightDecay > 0 ? add(grad, mul(target, weightDecay)) : grad;
}
