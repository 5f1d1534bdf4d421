import { add, mul } from '../ops/pointwise/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Rates } from './optimizer.ts';

/** The gradient to follow: with that of the L2 penalty ½·decay·‖p‖² in it. */
export function penalized(grad: Tensor, target: Tensor, { weightDecay }: Rates): Tensor {
  return weightDecay > 0 ? add(grad, mul(target, weightDecay)) : grad;
}
