import { Tensor } from '../../tensor/tensor.ts';
import { isModule } from './is-module.ts';
import { mayBeState } from './parameter.ts';

/**
 * Returns the indices of the elements in which a module finds its state: submodules, parameters and buffers. A history
 * of numbers or tensors has none, whatever its length. Capture guards the result instead of the elements.
 */
export function statePlaces(array: readonly unknown[]): number[] {
  const places: number[] = [];
  for (const [i, value] of array.entries()) {
    if (isModule(value) || (value instanceof Tensor && mayBeState(value))) places.push(i);
  }
  return places;
}
