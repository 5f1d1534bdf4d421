import { noGrad } from '../autograd/grad-mode.ts';
import type { Holder } from '../device/holder.ts';
import { bind1 } from '../ops/core/bind.ts';
import { copy } from '../ops/core/copy.ts';
import { copy_ } from '../ops/in-place/in-place.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Copies of tensors made before a run, restored if the run fails midway. */
export class MemorySnapshot {
  readonly #kept: { readonly tensor: Tensor; readonly before: Tensor }[] = [];
  readonly #versions: ReadonlyMap<Holder, number>;

  /** Throws OutOfMemoryError; copies made so far are freed. */
  constructor(tensors: Iterable<Tensor>) {
    const all = [...new Set(tensors)];
    this.#versions = new Map(all.map(({ holder }) => [holder!, holder!.version]));
    try {
      noGrad(() => {
        for (const tensor of all) this.#kept.push({ tensor, before: bind1(copy, [tensor]) });
      });
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** Restores values and versions, as if nothing had been written. */
  restore(): void {
    noGrad(() => {
      for (const { tensor, before } of this.#kept) copy_(tensor, before);
    });
    for (const [holder, version] of this.#versions) holder.version = version;
  }

  dispose(): void {
    for (const { before } of this.#kept) before.dispose();
  }
}
