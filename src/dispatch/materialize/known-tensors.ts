/** Elements of lists that are known tensors: inputs of the run, outputs, and other elements. */

import type { Holder } from '../../../runtime/device/holder.ts';
import { inputThatIs, isSameValue, valueIn } from '../../../runtime/run-program/scope/identity.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { RunValues } from './materialize.ts';

/** Tensors that a run has left, by their memory. */
export class KnownTensors {
  readonly #byMemory = new Map<Holder, Tensor[]>();

  constructor(tensors: readonly Tensor[]) {
    for (const each of tensors) this.#add(each);
  }

  /** The one that the tensor is; itself, and known from then on, where it is none of them. */
  of(tensor: Tensor): Tensor {
    const value = valueIn(tensor);
    // Whether it requires gradients is what is known of the list as a whole.
    const known = this.#byMemory
      .get(tensor.holder!)
      ?.find((each) => isSameValue(valueIn(each), value));
    if (!known) this.#add(tensor);
    return known ?? tensor;
  }

  #add(tensor: Tensor): void {
    const { holder } = tensor;
    if (!holder) return;
    const known = this.#byMemory.get(holder);
    if (known) known.push(tensor);
    else this.#byMemory.set(holder, [tensor]);
  }
}

/** The tensor that the element is; the element's own handle is freed where there is another. */
export function knownTensor(element: Tensor, values: RunValues): Tensor {
  const given = inputThatIs(valueIn(element), values.inputs);
  values.known ??= new KnownTensors(values.lasting.map((i) => values.outputs[i]!));
  const known = given ?? values.known.of(element);
  if (known !== element) element.dispose();
  return known;
}
