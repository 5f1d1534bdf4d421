import { Tensor } from './tensor.ts';

const { requiresGrad_ } = Tensor.prototype;

/** `tensor.requiresGrad_(value)`, whatever the user has put in its place. */
export function requireGrad(tensor: Tensor, value = true): Tensor {
  return Reflect.apply(requiresGrad_, tensor, [value]);
}
