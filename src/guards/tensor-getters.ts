import { Tensor } from '../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../runtime/tensor-methods/methods.ts';

// Loading the module defines `tensorMethods` on the prototype.
void tensorMethods;

const getters: ReadonlySet<unknown> = new Set(
  Object.values(Object.getOwnPropertyDescriptors(Tensor.prototype)).flatMap(({ get }) => get ?? []),
);

/** Whether this package defined the getter on tensors: then it runs no user code. */
export function isTensorGetter(getter: unknown): boolean {
  return getters.has(getter);
}
