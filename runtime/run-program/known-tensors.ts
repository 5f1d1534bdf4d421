/** List elements that are known tensors: inputs of the run, outputs, and other elements. */

import type { Holder } from '../device/holder.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { inputThatIs, isSameValue, valueIn } from './scope/identity.ts';

export interface RunTensors {
  /** The subgraph's input tensors. */
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** The indices of outputs that become user tensors, which lists may also contain. */
  readonly lasting: readonly number[];
  /** These outputs and list elements, by memory; built when a list is first read. */
  known?: Map<Holder | null, Tensor[]>;
}

/**
 * Returns the tensor that the element is; if it is already known, the element's own handle is freed. Whether it
 * requires gradients is known only for the list as a whole.
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
