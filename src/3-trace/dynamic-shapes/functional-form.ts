import { sameSpec } from '../../../runtime/device/tensor-meta.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';

type Callable = (...args: never[]) => unknown;

/** Methods that take other arguments than those without `_`. */
const takingOthers: ReadonlySet<string> = new Set([
  'clamp_',
  'clip_',
  'div_',
  'divide_',
  'trueDivide_',
  'round_',
]);

/**
 * Returns a method with the result of one that writes in place. It is the method without `_` where that exists, takes
 * the same arguments, and keeps the tensor's shape and dtype; otherwise a clone is written.
 */
export function functionalForm(fn: Callable) {
  const functional = takingOthers.has(fn.name)
    ? undefined
    : tensorMethods.traced.find(({ name }) => name === fn.name.slice(0, -1));
  const written = function (this: Tensor, ...args: never[]): unknown {
    const result = functional && (Reflect.apply(functional, this, args) as Tensor);
    return result && sameSpec(result, this) ? result : Reflect.apply(fn, this.clone(), args);
  };
  return Object.defineProperty(written, 'name', { value: fn.name });
}
