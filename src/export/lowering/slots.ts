import type { Engine, OpCall, TargetValue } from './target.ts';

/** Memory of a program: its elements as they are after the writes so far. */
interface Storage<V> {
  current: V;
  version: number;
}

/** A value of a program: memory, seen through views. */
export class Slot<V extends TargetValue, A> {
  readonly #engine: Engine<V, A>;
  readonly #storage: Storage<V>;
  readonly #views: readonly OpCall<V, A>[];
  #value: V;
  #version: number;
  /** Whether an optional gradient exists, i1 []; its elements are zeros where it doesn't. Null: it always does. */
  readonly exists: V | null;

  private constructor(
    engine: Engine<V, A>,
    storage: Storage<V>,
    views: readonly OpCall<V, A>[],
    value: V,
    exists: V | null,
  ) {
    this.#engine = engine;
    this.#storage = storage;
    this.#views = views;
    this.#value = value;
    this.#version = storage.version;
    this.exists = exists;
  }

  static of<V extends TargetValue, A>(
    engine: Engine<V, A>,
    value: V,
    exists: V | null = null,
  ): Slot<V, A> {
    return new Slot(engine, { current: value, version: 0 }, [], value, exists);
  }

  get isWritten(): boolean {
    return this.#storage.version > 0;
  }

  /** Whether both are the same memory. */
  sharesWith(other: Slot<V, A>): boolean {
    return this.#storage === other.#storage;
  }

  /** The memory through one view more; its first operand is this value. */
  seenThrough(view: OpCall<V, A>): Slot<V, A> {
    const value = this.#engine.emit(view)[0]!;
    return new Slot(this.#engine, this.#storage, [...this.#views, view], value, this.exists);
  }

  /** The elements now: after a write the views are taken again. */
  read(): V {
    if (this.#version === this.#storage.version) return this.#value;
    this.#value = this.#levels().at(-1)!;
    this.#version = this.#storage.version;
    return this.#value;
  }

  /** Everything that shows this memory sees the write. */
  write(value: V): Slot<V, A> {
    const levels = this.#levels();
    let written = value;
    for (let i = this.#views.length - 1; i >= 0; i--) {
      written = this.#engine.writeThrough(this.#views[i]!, levels[i]!, written);
    }
    this.#storage.current = written;
    this.#storage.version++;
    this.#value = value;
    this.#version = this.#storage.version;
    return new Slot(this.#engine, this.#storage, this.#views, value, this.exists);
  }

  /** The memory, then what each view makes of it. */
  #levels(): V[] {
    const levels = [this.#storage.current];
    for (const view of this.#views) {
      const [, ...others] = view.inputs;
      levels.push(this.#engine.emit({ ...view, inputs: [levels.at(-1)!, ...others] })[0]!);
    }
    return levels;
  }
}
