import { gradEnabled } from '../autograd/grad-mode.ts';
import { TensorList } from '../device/tensor-list.ts';
import { contiguousMeta, type TensorMeta } from '../device/tensor-meta.ts';
import { AutogradError } from '../errors/errors.ts';
import { contiguous } from '../ops/movement/movement.ts';
import { elementSpec } from '../program/list-ops.ts';
import { GradNode, targetOf } from '../tensor/grad-node.ts';
import { Tensor } from '../tensor/tensor.ts';
import { itemSync } from '../tensor-methods/read.ts';
import { noteIdentity, ownPlace } from './scope/identity.ts';

/** Returns handles to the elements of a list that a program returned; frees the list's handle. */
export function takeItems(list: Tensor): Tensor[] {
  const { holder, device } = list;
  const meta = contiguousMeta(elementSpec(list), device);
  const items = holder instanceof TensorList ? holder.items : [];
  const tensors = items.map((item) => {
    const { holder: data, offset, identity = ownPlace } = item!;
    const tensor = new Tensor({ ...meta, offset }, data.retain());
    noteIdentity(tensor, identity);
    return tensor;
  });
  if (list.gradEdge && tensors.length > 0) {
    const node = new ListItemsNode(list, tensors.length);
    tensors.forEach((tensor, index) => {
      tensor.setGradEdge({ node, index });
    });
  }
  list.dispose();
  return tensors;
}

/** Returns the number or boolean in a list element and frees its tensor. */
export function takeNumber(item: Tensor, of: 'number' | 'boolean'): number | boolean {
  const value = itemSync(item);
  item.dispose();
  return of === 'boolean' ? Boolean(value) : value;
}

/** Passes the gradients of a list's elements to the list. */
class ListItemsNode extends GradNode {
  override readonly name = 'list';
  readonly #list: TensorMeta;
  readonly #count: number;

  constructor(list: Tensor, count: number) {
    super([targetOf(list)], count);
    this.#list = contiguousMeta(list, list.device);
    this.#count = count;
  }

  override get readsSaved(): boolean {
    return false;
  }

  override apply(gradOutputs: readonly (Tensor | null | undefined)[]): (Tensor | null)[] {
    const { device } = this.#list;
    if (gradEnabled()) throw listOfGradients();
    const parts = Array.from({ length: this.#count }, (_, i) => {
      const gradient = gradOutputs[i];
      return gradient ? contiguous(gradient) : null;
    });
    const items = parts.map((part) => part && { holder: part.holder!, offset: part.offset });
    const gradient = new Tensor(this.#list, new TensorList(device, items));
    parts.forEach((part, i) => {
      if (part !== gradOutputs[i]) part?.dispose();
    });
    return [gradient];
  }

  protected override releaseSaved(): void {}
}

function listOfGradients(): AutogradError {
  return new AutogradError({
    what: 'a gradient of a gradient through an element of a returned list',
    given: 'a backward with createGraph',
    expected: 'results that are no elements of an array which a loop of the program has filled',
    remedy: 'return stack(list) from the function, or leave createGraph out',
  });
}
