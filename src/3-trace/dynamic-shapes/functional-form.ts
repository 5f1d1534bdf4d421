import { sameSpec } from '../../../runtime/device/tensor-meta.ts';
import { TostaticError } from '../../../runtime/errors/errors.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';

type Callable = (...args: never[]) => unknown;

/**
 * Returns a method with the result of one that writes in place. It is the method without `_` where that exists, takes
 * the arguments, and keeps the tensor's shape and dtype; otherwise a clone is written.
 */
export function functionalForm(fn: Callable) {
  const functional = tensorMethods.traced.find(({ name }) => name === fn.name.slice(0, -1));
  const written = function (this: Tensor, ...args: never[]): unknown {
    const result = functional && resultOf(functional, this, args);
    return result && sameSpec(result, this) ? result : Reflect.apply(fn, this.clone(), args);
  };
  return Object.defineProperty(written, 'name', { value: fn.name });
}

/** Returns undefined for arguments that the method refuses, so that the error names the method that writes. */
function resultOf(functional: Callable, target: Tensor, args: never[]): Tensor | undefined {
  try {
    return Reflect.apply(functional, target, args) as Tensor;
  } catch (error) {
    if (error instanceof TostaticError) return undefined;
    throw error;
  }
}
