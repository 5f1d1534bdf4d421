import { sameSpec } from '../../../runtime/device/tensor-meta.ts';
import { TostaticError } from '../../../runtime/errors/errors.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';

type Callable = (...args: never[]) => unknown;

/**
 * Returns a method that computes the result of an in-place method: the method without `_` if it exists, accepts the
 * arguments, and keeps the tensor's shape and dtype; otherwise the in-place method on a clone.
 */
export function functionalForm(fn: Callable) {
  const functional = tensorMethods.traced.find(({ name }) => name === fn.name.slice(0, -1));
  const written = function (this: Tensor, ...args: never[]): unknown {
    const result = functional && resultOf(functional, this, args);
    return result && sameSpec(result, this) ? result : Reflect.apply(fn, this.clone(), args);
  };
  return Object.defineProperty(written, 'name', { value: fn.name });
}

/** Returns undefined for arguments that the method rejects, so that the error names the in-place method. */
function resultOf(functional: Callable, target: Tensor, args: never[]): Tensor | undefined {
  try {
    return Reflect.apply(functional, target, args) as Tensor;
  } catch (error) {
    if (error instanceof TostaticError) return undefined;
    throw error;
  }
}
