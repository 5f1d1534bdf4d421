import type { Holder } from '../device/holder.ts';
import { formatSpec, type TensorMeta } from '../device/tensor-meta.ts';
import { AutogradError } from '../errors/errors.ts';
import type { SaveKind } from '../ops/record/define-op.ts';
import { attach, type Target } from '../tensor/grad-node.ts';
import { Tensor, type TracedValue } from '../tensor/tensor.ts';
import { gradEnabled } from './grad-mode.ts';

/** Data that is not kept but recomputed when backward needs it. */
export interface Deferred {
  /** Returns a saved value with data, equivalent to the original. */
  get(): SavedValue;
  release(): void;
}

/** Called for every value saved with data; may return a recomputed value to use instead. */
type SaveListener = (value: Tensor) => Deferred | null;

let listener: SaveListener | null = null;

/** Runs `body` with `next` as the only save listener. */
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
 * A forward value kept for backward: its data, as an additional owner of the holder, or only its meta. Records the
 * holder's version to detect later in-place writes.
 */
export class SavedValue {
  readonly #meta: TensorMeta;
  readonly #traced: TracedValue | null;
  readonly #version: number;
  /** Whether the version is checked; a value's meta can't change. */
  readonly #checked: boolean;
  readonly #deferred: Deferred | null;
  #holder: Holder | null;

  constructor(value: Tensor, kind: SaveKind) {
    // Not the handle, which would keep itself and its data alive.
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
   * Returns a handle owned by the caller; while gradients are recorded, at its old place `target` in the graph.
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

/** Returns the error for a backward whose forward data was overwritten. */
export function changedInPlace(op: string, given: string): AutogradError {
  return new AutogradError({
    what: `backward of ${op}: a value that it needs was changed in place`,
    given,
    expected: 'the data that the forward pass saw',
    remedy: 'use the out-of-place form of the op that changed it, or change a clone()',
  });
}
