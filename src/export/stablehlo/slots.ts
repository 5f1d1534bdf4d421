import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { Emitter, Value } from './emitter.ts';
import { emitOp } from './mapping.ts';
import type { OpCall } from './op-mapping.ts';
import { placesOf, writtenFlat } from './ops/movement.ts';

/** Memory of a program: its elements as they are after the writes so far. */
interface Storage {
  current: Value;
  version: number;
}

/** A value of a program: memory, seen through views. */
export class Slot {
  readonly #storage: Storage;
  readonly #views: readonly OpCall[];
  #value: Value;
  #version: number;

  private constructor(storage: Storage, views: readonly OpCall[], value: Value) {
    this.#storage = storage;
    this.#views = views;
    this.#value = value;
    this.#version = storage.version;
  }

  static of(value: Value): Slot {
    return new Slot({ current: value, version: 0 }, [], value);
  }

  get isWritten(): boolean {
    return this.#storage.version > 0;
  }

  /** The memory through one view more; its first operand is this value. */
  seenThrough(view: OpCall): Slot {
    return new Slot(this.#storage, [...this.#views, view], emitOp(view)[0]!);
  }

  /** The elements now: after a write the views are taken again. */
  read(): Value {
    if (this.#version === this.#storage.version) return this.#value;
    this.#value = this.#levels().at(-1)!;
    this.#version = this.#storage.version;
    return this.#value;
  }

  /** Everything that shows this memory sees the write. */
  write(to: Emitter, value: Value): Slot {
    const levels = this.#levels();
    let written = value;
    for (let i = this.#views.length - 1; i >= 0; i--) {
      written = throughView(to, this.#views[i]!, levels[i]!, written);
    }
    this.#storage.current = written;
    this.#storage.version++;
    this.#value = value;
    this.#version = this.#storage.version;
    return new Slot(this.#storage, this.#views, value);
  }

  /** The memory, then what each view makes of it. */
  #levels(): Value[] {
    const levels = [this.#storage.current];
    for (const view of this.#views) {
      const [, ...others] = view.inputs;
      levels.push(emitOp({ ...view, inputs: [levels.at(-1)!, ...others] })[0]!);
    }
    return levels;
  }
}

/** The operand of a view after its result was written. */
function throughView(to: Emitter, view: OpCall, operand: Value, written: Value): Value {
  const { op, attrs, metas } = view;
  switch (op.name) {
    case 'alias':
    case 'reshape':
    case 'reshapeLike':
      return to.reshape(written, operand.shape);
    case 'permute': {
      const dims = attrs.dims as readonly number[];
      return to.transpose(
        written,
        dims.map((_, d) => dims.indexOf(d)),
      );
    }
    case 'narrow':
    case 'slice':
    case 'diagonal':
    case 'asStrided': {
      const isFixed = Object.values(attrs).every(
        (value) => typeof value !== 'object' || Array.isArray(value),
      );
      if (op.kernel.kind !== 'view' || !isFixed) break;
      const { shape, strides, offset } = op.kernel.view(metas, attrs);
      return writtenFlat({ to }, operand, written, placesOf(shape, strides, offset));
    }
  }
  throw new ArgumentError({
    what: `export: a write in place through ${op.name}`,
    given: `a view made by ${op.name}`,
    expected:
      'writes to whole tensors, and to parts made by reshape, permute, narrow, slice or diagonal',
    remedy: 'write to a copy, or compute a new tensor',
  });
}
