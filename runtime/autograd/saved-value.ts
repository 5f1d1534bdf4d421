import { AutogradError } from '../errors/errors.ts';
import type { Holder } from '../memory/holder.ts';
import type { SaveKind } from '../ops/define-op.ts';
import { formatSpec, type TensorMeta } from '../tensor/meta.ts';
import { Tensor, type TracedValue } from '../tensor/tensor.ts';
import { gradEnabled } from './grad-mode.ts';
import { attach, type Target } from './node.ts';

/**
 * What backward keeps of a forward value: its data (one more owner of the holder), or only its meta.
 * Remembers the holder's version, so that a write in place since then is noticed.
 */
export class SavedValue {
  readonly #meta: TensorMeta;
  readonly #traced: TracedValue | null;
  readonly #version: number;
  #holder: Holder | null;

  constructor(value: Tensor, kind: SaveKind) {
    // Not the handle itself: it would be kept from the garbage collector, and its data with it.
    const { dtype, shape, strides, offset, device } = value;
    this.#meta = { dtype, shape, strides, offset, device };
    this.#traced = value.traced;
    this.#holder = kind === 'value' ? (value.holder?.retain() ?? null) : null;
    this.#version = this.#holder?.version ?? 0;
  }

  get holder(): Holder | null {
    return this.#holder;
  }

  /**
   * A handle that the caller owns; while gradients are recorded, at its old place `target` in the graph.
   * Throws AutogradError if the data was changed since it was saved.
   */
  read(op: string, target: Target): Tensor {
    const holder = this.#holder;
    if (holder && holder.version !== this.#version) {
      throw new AutogradError({
        what: `backward of ${op}: a value that it needs was changed in place`,
        given: `a ${formatSpec(this.#meta)} tensor, saved at version ${this.#version}, now at version ${holder.version}`,
        expected: 'the data that the forward pass saw',
        remedy: 'use the out-of-place form of the op that changed it, or change a clone()',
      });
    }
    const value = new Tensor(this.#meta, holder?.retain() ?? null, this.#traced);
    return holder && gradEnabled() ? attach(value, target) : value;
  }

  release(): void {
    this.#holder?.release();
    this.#holder = null;
  }
}
