import { expectTensors } from '../../ops/record/expect-tensors.ts';
import { noParameters } from '../../options/expect-arguments.ts';
import { isTensor } from '../../options/is-tensor.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/** Returns the parameters as an array, from one tensor or several. Throws ArgumentError for anything else. */
export function parametersIn(
  owner: string,
  parameters: Tensor | Iterable<Tensor>,
): readonly Tensor[] {
  if (isTensor(parameters)) return [parameters as Tensor];
  if (typeof parameters !== 'object' || parameters === null || !(Symbol.iterator in parameters)) {
    throw noParameters(owner, parameters);
  }
  const list = [...parameters];
  // A Sequential is also iterable.
  if (list.length > 0 && !list.some(isTensor)) throw noParameters(owner, parameters);
  expectTensors(owner, ...list);
  return list;
}
