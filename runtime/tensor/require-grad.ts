import { Tensor } from './tensor.ts';

const { requiresGrad_ } = Tensor.prototype;

/** Calls the built-in `requiresGrad_`, even if the user has overridden the method. */
export function requireGrad(tensor: Tensor, value = true): Tensor {
  return Reflect.apply(requiresGrad_, tensor, [value]);
}
