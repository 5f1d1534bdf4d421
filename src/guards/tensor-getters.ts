import { Tensor } from '../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../runtime/tensor-methods/methods.ts';

// Those of `tensorMethods` stand on the prototype once that module is loaded.
void tensorMethods;

const getters: ReadonlySet<unknown> = new Set(
  Object.values(Object.getOwnPropertyDescriptors(Tensor.prototype)).flatMap(({ get }) => get ?? []),
);

/** A getter that this package has put on tensors: it runs nothing of the user's. */
export function isTensorGetter(getter: unknown): boolean {
  return getters.has(getter);
}
