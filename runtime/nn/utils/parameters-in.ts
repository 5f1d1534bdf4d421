import { expectTensors } from '../../ops/record/expect-tensors.ts';
import { noParameters } from '../../options/expect-arguments.ts';
import { isTensor } from '../../options/is-tensor.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/** Returns the parameters as an array, from one tensor or several. Throws ArgumentError for anything else. */
export function parametersIn(owner: string, given: Tensor | Iterable<Tensor>): readonly Tensor[] {
  if (isTensor(given)) return [given as Tensor];
  if (typeof given !== 'object' || given === null || !(Symbol.iterator in given)) {
    throw noParameters(owner, given);
  }
  const list = [...given];
  // A Sequential is also iterable.
  if (list.length > 0 && !list.some(isTensor)) throw noParameters(owner, given);
  expectTensors(owner, ...list);
  return list;
}
