import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import type { Holder } from '../../runtime/memory/holder.ts';
import { bind1 } from '../../runtime/ops/bind.ts';
import { copy } from '../../runtime/ops/copy.ts';
import { copy_ } from '../../runtime/ops/in-place.ts';
import type { TensorMeta } from '../../runtime/tensor/meta.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';

type Given = Tensor | null | undefined;

/** One tensor of an image: its layout, and which memory of the image it shows. */
interface Shown {
  readonly meta: TensorMeta;
  readonly memory: number;
}

/**
 * The memory of some tensors as it is now, byte by byte: tensors that share memory share it in the image, too.
 * Fresh tensors with the same layouts can be made of it any number of times.
 */
export class Images {
  readonly #shown: readonly (Shown | null)[];
  readonly #memories: readonly Tensor[];

  constructor(tensors: readonly Given[]) {
    const holders: Holder[] = [];
    this.#shown = Array.from(tensors, (tensor) => {
      if (!tensor?.holder) return null;
      const known = holders.indexOf(tensor.holder);
      const memory = known < 0 ? holders.push(tensor.holder) - 1 : known;
      const { dtype, shape, strides, offset, device } = tensor;
      return { meta: { dtype, shape, strides, offset, device }, memory };
    });
    this.#memories = holders.map(copyOf);
  }

  /** Tensors with this memory, which the caller owns; null where none was given. */
  make(): (Tensor | null)[] {
    const made = this.#memories.map(({ holder }) => copyOf(holder!));
    const tensors = this.#shown.map((shown) =>
      shown ? new Tensor(shown.meta, made[shown.memory]!.holder!.retain()) : null,
    );
    for (const memory of made) memory.dispose();
    return tensors;
  }

  /** Writes the memory of the image into that of the tensors it was made of. */
  writeTo(tensors: readonly Given[]): void {
    const done = new Set<number>();
    this.#shown.forEach((shown, i) => {
      const holder = tensors[i]?.holder;
      if (!shown || !holder || done.has(shown.memory)) return;
      done.add(shown.memory);
      const whole = wholeOf(holder);
      noGrad(() => copy_(whole, this.#memories[shown.memory]!));
      whole.dispose();
    });
  }

  dispose(): void {
    for (const memory of this.#memories) memory.dispose();
  }
}

/** All of a holder's memory as one tensor of the smallest elements that its device has. */
function wholeOf(holder: Holder): Tensor {
  const { device, bytes } = holder;
  const dtype = device.elementBytes('uint8') === 1 ? 'uint8' : 'float32';
  const size = Math.ceil(bytes / device.elementBytes(dtype));
  return new Tensor({ dtype, shape: [size], strides: [1], offset: 0, device }, holder.retain());
}

function copyOf(holder: Holder): Tensor {
  const whole = wholeOf(holder);
  try {
    return noGrad(() => bind1(copy, [whole]));
  } finally {
    whole.dispose();
  }
}
