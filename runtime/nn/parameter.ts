import { noGrad } from '../autograd/grad-mode.ts';
import { rand } from '../ops/create.ts';
import { add_, mul_ } from '../ops/in-place.ts';
import { keep } from '../tensor/lifetime.ts';
import type { Shape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** A leaf that requires a gradient. */
export type Parameter = Tensor;

/** Makes a tensor trainable: it requires a gradient and outlives any `tidy` around it. */
export function parameter(tensor: Tensor): Parameter {
  return keep(tensor).requiresGrad_();
}

/**
 * PyTorch's default for weights and biases, uniform in ±1/√fanIn: Kaiming's bound √(6 / ((1 + a²) fanIn))
 * with a = √5.
 */
export function kaimingUniform(shape: Shape, fanIn: number): Parameter {
  const bound = fanIn > 0 ? 1 / Math.sqrt(fanIn) : 0;
  return noGrad(() => {
    const values = rand(shape);
    mul_(values, 2 * bound);
    add_(values, -bound);
    return parameter(values);
  });
}
