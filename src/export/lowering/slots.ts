import { writtenThrough } from '../ops/writes.ts';
import type { Engine, OpCall, TargetValue } from '../target/target.ts';
import { Memory } from './memory.ts';

/** A value of a program: memory, read through views. */
export class Slot<V extends TargetValue> {
  readonly #engine: Engine<V>;
  readonly memory: Memory<V>;
  readonly #views: readonly OpCall<V>[];
  #value: V;
  #version: number;
  /** Whether an optional gradient exists, i1 []; if not, its elements are zeros. Null if it always exists. */
  readonly exists: V | null;

  private constructor(
    engine: Engine<V>,
    memory: Memory<V>,
    views: readonly OpCall<V>[],
    value: V,
    exists: V | null,
  ) {
    this.#engine = engine;
    this.memory = memory;
    this.#views = views;
    this.#value = value;
    this.#version = memory.version;
    this.exists = exists;
  }

  static of<V extends TargetValue>(engine: Engine<V>, value: V, exists: V | null = null): Slot<V> {
    return new Slot(engine, new Memory(value), [], value, exists);
  }

  get isWritten(): boolean {
    return this.memory.version > 0;
  }

  /** Returns this view of another memory. */
  over(memory: Memory<V>): Slot<V> {
    const value = this.#levels(memory).at(-1)!;
    return new Slot(this.#engine, memory, this.#views, value, this.exists);
  }

  /** Returns the memory through one more view, whose first operand is this value. */
  seenThrough(view: OpCall<V>): Slot<V> {
    const value = this.#engine.emit(view)[0]!;
    return new Slot(this.#engine, this.memory, [...this.#views, view], value, this.exists);
  }

  /** Returns the current elements: after a write, the views are applied again. */
  read(): V {
    if (this.#version === this.memory.version) return this.#value;
    this.#value = this.#levels().at(-1)!;
    this.#version = this.memory.version;
    return this.#value;
  }

  /** Writes to the memory; all its views see the write. */
  write(value: V): Slot<V> {
    const levels = this.#levels();
    let written = value;
    for (let i = this.#views.length - 1; i >= 0; i--) {
      written = writtenThrough({ ...this.#views[i]!, to: this.#engine }, levels[i]!, written);
    }
    this.memory.write(written);
    this.#value = value;
    this.#version = this.memory.version;
    return new Slot(this.#engine, this.memory, this.#views, value, this.exists);
  }

  /** Returns the memory, then the result of each view. */
  #levels(memory = this.memory): V[] {
    const levels = [memory.current];
    for (const view of this.#views) {
      const [, ...others] = view.inputs;
      levels.push(this.#engine.emit({ ...view, inputs: [levels.at(-1)!, ...others] })[0]!);
    }
    return levels;
  }
}
