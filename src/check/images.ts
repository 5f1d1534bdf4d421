import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { DynamicTensor } from '../../runtime/device/dynamic-tensor.ts';
import { Holder } from '../../runtime/device/holder.ts';
import { TensorList } from '../../runtime/device/tensor-list.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { copy_ } from '../../runtime/ops/in-place/in-place.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';

type OptionalTensor = Tensor | null | undefined;

/** One tensor of an image, with the copy of its memory; null for a handle without data. */
interface TensorImage {
  readonly meta: TensorMeta;
  readonly copied: Holder | null;
}

/**
 * A snapshot of the memory of some tensors, byte by byte: tensors that share memory also share it in the snapshot.
 * Any number of fresh tensors with the same layouts can be created from it.
 */
export class Images {
  readonly #shown: readonly (TensorImage | null)[];
  readonly #memories: Copies;

  constructor(tensors: readonly OptionalTensor[]) {
    this.#memories = new Copies();
    this.#shown = Array.from(tensors, (tensor) => {
      if (!tensor) return null;
      const { dtype, shape, strides, offset, device, holder } = tensor;
      const meta = { dtype, shape, strides, offset, device };
      return { meta, copied: holder && this.#memories.of(holder) };
    });
  }

  /**
   * Creates tensors with this memory, owned by the caller; null for missing ones. A handle without data, of which a
   * plan reads only the shape, gets poisoned memory: plans without that clean-up keep it in the scope.
   */
  make(): (Tensor | null)[] {
    const copies = new Copies();
    const tensors = this.#shown.map((shown) => {
      if (!shown) return null;
      const { meta, copied } = shown;
      return new Tensor(meta, copied ? copies.of(copied).retain() : poisonedFor(meta));
    });
    copies.release();
    return tensors;
  }

  /** Copies the snapshot's memory back into the tensors it was taken of. */
  writeTo(tensors: readonly OptionalTensor[]): void {
    this.#shown.forEach((shown, i) => {
      const holder = tensors[i]?.holder;
      if (!shown?.copied || !holder) return;
      const [target, source] = [wholeOf(holder), wholeOf(shown.copied)];
      noGrad(() => copy_(target, source));
      target.dispose();
      source.dispose();
    });
  }

  dispose(): void {
    this.#memories.release();
  }
}

/** Copies holders, each once, so that shared memory remains shared. Owns the copies. */
class Copies {
  readonly #copies = new Map<Holder, Holder>();

  of(holder: Holder): Holder {
    return getOrInsert(this.#copies, holder, () => this.#copy(holder));
  }

  release(): void {
    for (const holder of this.#copies.values()) holder.release();
    this.#copies.clear();
  }

  #copy(holder: Holder): Holder {
    if (holder instanceof TensorList) {
      const items = holder.items.map((item) => item && { ...item, holder: this.of(item.holder) });
      return new TensorList(holder.device, items);
    }
    if (holder instanceof DynamicTensor) {
      const { holder: data, offset } = holder.data;
      return new DynamicTensor(
        holder.device,
        { holder: this.of(data).retain(), offset },
        holder.shape,
      );
    }
    return copyOf(holder);
  }
}

function poisonedFor({ dtype, shape, strides, offset, device }: TensorMeta): Holder {
  const last = shape.reduce(
    (sum, size, dim) => sum + Math.max(0, size - 1) * strides[dim]!,
    offset,
  );
  return new Holder(device, (last + 1) * device.elementBytes(dtype));
}

/**
 * Returns a holder's whole memory as one tensor whose elements are copied bit by bit; a GPU copies only whole words.
 */
function wholeOf(holder: Holder): Tensor {
  const { device, bytes } = holder;
  const dtype = device.kind === 'gpu' ? 'int32' : 'uint8';
  const size = Math.ceil(bytes / device.elementBytes(dtype));
  return new Tensor({ dtype, shape: [size], strides: [1], offset: 0, device }, holder.retain());
}

function copyOf(holder: Holder): Holder {
  // Nothing in a store is overwritten.
  if (holder.device.expectLanded) return holder.retain();
  const whole = wholeOf(holder);
  const copied = noGrad(() => bind1(copy, [whole]));
  const memory = copied.holder!.retain();
  whole.dispose();
  copied.dispose();
  return memory;
}
