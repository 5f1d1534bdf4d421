import type { Holder } from '../device/holder.ts';
import { formatSpec, type TensorMeta } from '../device/tensor-meta.ts';
import { AutogradError } from '../errors/errors.ts';
import type { SaveKind } from '../ops/record/define-op.ts';
import { attach, type Target } from '../tensor/grad-node.ts';
import { Tensor, type TracedValue } from '../tensor/tensor.ts';
import { gradEnabled } from './grad-mode.ts';

/** Data that isn't kept but made again when backward wants it. */
export interface Deferred {
  /** A saved value with data, and the same meaning. */
  get(): SavedValue;
  release(): void;
}

/** Is told of every value that is saved with data; may return that it will make the data again. */
export type SaveListener = (value: Tensor) => Deferred | null;

let listener: SaveListener | null = null;

/** Inside `body`, `next` alone hears of what is saved. */
export function withSaveListener<T>(next: SaveListener | null, body: () => T): T {
  const outer = listener;
  listener = next;
  try {
    return body();
  } finally {
    listener = outer;
  }
}

/**
 * A forward value that backward keeps: its data (one more owner of the holder), or only its meta.
 * Remembers the holder's version, so that a write in place since then is noticed.
 */
export class SavedValue {
  readonly #meta: TensorMeta;
  readonly #traced: TracedValue | null;
  readonly #version: number;
  /** Only data can be changed under a saved value; its meta can't. */
  readonly #checked: boolean;
  readonly #deferred: Deferred | null;
  #holder: Holder | null;

  constructor(value: Tensor, kind: SaveKind) {
    // Not the handle itself: it would be kept from the garbage collector, and its data with it.
    const { dtype, shape, strides, offset, device } = value;
    this.#meta = { dtype, shape, strides, offset, device };
    this.#traced = value.traced;
    const data = kind === 'value' ? value.holder : null;
    const isRead = data !== null || (kind === 'value' && value.traced !== null);
    this.#deferred = isRead ? (listener?.(value) ?? null) : null;
    this.#holder = this.#deferred ? null : (data?.retain() ?? null);
    this.#checked = kind === 'value';
    this.#version = this.#currentVersion();
  }

  get holder(): Holder | null {
    return this.#holder;
  }

  /**
   * A handle that the caller owns; while gradients are recorded, at its old place `target` in the graph.
   * Throws AutogradError if the data was changed since it was saved.
   */
  read(op: string, target: Target): Tensor {
    if (this.#deferred) return this.#deferred.get().read(op, target);
    const holder = this.#holder;
    if (this.#checked && this.#currentVersion() !== this.#version) {
      throw changedInPlace(op, `a ${formatSpec(this.#meta)} tensor, written since forward`);
    }
    const value = new Tensor(this.#meta, holder?.retain() ?? null, this.#traced);
    return this.#checked && gradEnabled() ? attach(value, target) : value;
  }

  #currentVersion(): number {
    return this.#holder?.version ?? this.#traced?.version() ?? 0;
  }

  release(): void {
    this.#deferred?.release();
    this.#holder?.release();
    this.#holder = null;
  }
}

/** Backward of the op needs the data of the forward pass, which has been overwritten since. */
export function changedInPlace(op: string, given: string): AutogradError {
  return new AutogradError({
    what: `backward of ${op}: a value that it needs was changed in place`,
    given,
    expected: 'the data that the forward pass saw',
    remedy: 'use the out-of-place form of the op that changed it, or change a clone()',
  });
}
