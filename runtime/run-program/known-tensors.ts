/** Elements of lists that are known tensors: inputs of the run, outputs, and other elements. */

import type { Holder } from '../device/holder.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { inputThatIs, isSameValue, valueIn } from './scope/identity.ts';

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

export interface RunTensors {
  /** Those that the subgraph was given. */
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Numbers of the outputs that are tensors of the user's afterwards, where lists may hold these, too. */
  readonly lasting: readonly number[];
  /** Made when a list is read. */
  known?: KnownTensors;
}

/** The tensor that the element is; the element's own handle is freed where there is another. */
export function knownTensor(element: Tensor, values: RunTensors): Tensor {
  const given = inputThatIs(valueIn(element), values.inputs);
  values.known ??= new KnownTensors(values.lasting.map((i) => values.outputs[i]!));
  const known = given ?? values.known.of(element);
  if (known !== element) element.dispose();
  return known;
}
