/** Elements of lists that are known tensors: inputs of the run, outputs, and other elements. */

import type { Holder } from '../device/holder.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { inputThatIs, isSameValue, valueIn } from './scope/identity.ts';

export interface RunTensors {
  /** Those that the subgraph was given. */
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Numbers of the outputs that are tensors of the user's afterwards, where lists may hold these, too. */
  readonly lasting: readonly number[];
  /** These outputs, and elements of lists, by their memory: once a list is read. */
  known?: Map<Holder | null, Tensor[]>;
}

/**
 * The tensor that the element is; the element's own handle is freed where there is another. Whether it requires gradients
 * is what is known of the list as a whole.
 */
export function knownTensor(element: Tensor, run: RunTensors): Tensor {
  if (!run.known) {
    run.known = new Map();
    for (const index of run.lasting) note(run.outputs[index]!, run.known);
  }
  const value = valueIn(element);
  const found =
    inputThatIs(value, run.inputs) ??
    run.known.get(element.holder)?.find((each) => isSameValue(valueIn(each), value));
  if (found) element.dispose();
  else note(element, run.known);
  return found ?? element;
}

function note(tensor: Tensor, known: Map<Holder | null, Tensor[]>): void {
  const same = known.get(tensor.holder);
  if (same) same.push(tensor);
  else known.set(tensor.holder, [tensor]);
}
