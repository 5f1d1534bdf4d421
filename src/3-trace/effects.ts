import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Source } from '../guards/source.ts';
import type { Journal } from './journal.ts';
import { ObjectsMet } from './objects-met.ts';
import {
  type NewArrayVariable,
  newArray,
  type ObjectVariable,
  type TensorVariable,
  type Variable,
} from './variable.ts';

/** One place that the trace has written to. */
export interface Write {
  readonly object: Source;
  readonly key: string;
  /** Null: the property is deleted. */
  value: Variable | null;
  /** Deleted before it is written, so that it becomes the last key. */
  readonly anew: boolean;
}

/** An array from outside that the trace changes as a whole. */
export interface OuterArray {
  readonly source: Source;
  /** What it will hold: behind what it holds already, or instead of it. */
  readonly content: NewArrayVariable;
  /** Its elements are known one by one: `content` are all of them. */
  whole: boolean;
}

/** A tensor that is given back: always, or where a truth value of the program says so. */
export interface Disposal {
  readonly variable: TensorVariable;
  readonly source: Source | null;
  readonly when: Variable | null;
}

/** What a Map or Set is made to do after the run. */
export interface CollectionChange {
  readonly collection: Source;
  readonly operation: 'set' | 'add' | 'delete' | 'clear';
  readonly key: Variable | null;
  readonly value: Variable | null;
}

/**
 * What the traced code changes of things that existed before: nothing happens until the run, where the
 * last value of each place is written after the graph. Objects are told apart by identity, so a write
 * through one path is seen through another.
 */
export class EffectLog {
  readonly #writes = new Map<object, Map<string, Write>>();
  readonly #arrays = new Map<object, OuterArray>();
  readonly #journal: Journal;
  /** Whether any variable around a function was assigned: module namespaces show them as properties. */
  hasVariables = false;
  /** In the order of the user's code. */
  readonly collectionChanges: CollectionChange[] = [];
  /** Which objects a later call must not confuse. */
  readonly met = new ObjectsMet();
  /** Tensors that are given back at the end: the user's own, and values of the program. */
  readonly disposed = new Map<Tensor, Disposal>();

  /** Outer tensors that gradients flow to from now on, or no more. */
  readonly switched = new Map<Tensor, { readonly source: Source; readonly value: boolean }>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /**
   * The value that the trace itself has written there, null when it has deleted it; call it for every
   * read of the property.
   */
  written(object: object, source: Source, key: string): Variable | null | undefined {
    this.met.touch(object, source, key);
    return this.#writes.get(object)?.get(key)?.value;
  }

  write(object: object, source: Source, key: string, value: Variable): void {
    const places = this.#placesOf(object, source, key);
    const earlier = places.get(key);
    const anew = earlier ? earlier.anew || earlier.value === null : false;
    // A key that was deleted comes back as the last one.
    if (earlier?.value === null) places.delete(key);
    places.set(key, { object: source, key, value, anew });
  }

  delete(object: object, source: Source, key: string): void {
    const places = this.#placesOf(object, source, key);
    places.delete(key);
    places.set(key, { object: source, key, value: null, anew: false });
  }

  /** The keys that the object has after the writes, in their order. */
  keysOf(object: object, before: readonly string[]): string[] {
    const sketch: Record<string, true> = Object.fromEntries(before.map((key) => [key, true]));
    for (const { key, value, anew } of this.#writes.get(object)?.values() ?? []) {
      if (value === null || anew) delete sketch[key];
      if (value !== null) sketch[key] = true;
    }
    return Object.keys(sketch);
  }

  *writes(): Generator<Write> {
    for (const places of this.#writes.values()) yield* places.values();
  }

  /** With the objects themselves. */
  *entries(): Generator<readonly [object, Write]> {
    for (const [object, places] of this.#writes) {
      for (const write of places.values()) yield [object, write];
    }
  }

  array(object: object): OuterArray | undefined {
    return this.#arrays.get(object);
  }

  /** The record of an array that is about to be changed as a whole. */
  changeArray(outer: ObjectVariable): OuterArray {
    const { value, source } = outer;
    this.met.change(value, source);
    const known = this.#arrays.get(value);
    if (known) return known;
    this.#journal.keepMap(this.#arrays);
    const array = { source, content: { ...newArray([]), outer }, whole: false };
    this.#arrays.set(value, array);
    return array;
  }

  /** From now on its content is the whole of it: single writes to elements are part of that. */
  takeWhole(object: object, array: OuterArray): void {
    const places = this.#writes.get(object);
    if (places) {
      this.#journal.keepMap(places);
      for (const key of places.keys()) if (/^\d+$/.test(key)) places.delete(key);
    }
    this.#journal.note(() => {
      array.whole = false;
    });
    array.whole = true;
  }

  arrays(): Iterable<OuterArray> {
    return this.#arrays.values();
  }

  changeCollection(object: object, change: CollectionChange): void {
    this.met.change(object, change.collection);
    this.#journal.keepList(this.collectionChanges);
    this.collectionChanges.push(change);
  }

  dispose(variable: TensorVariable): void {
    this.disposeWhen(variable, null);
  }

  /** `when`: the truth value of the program that says whether it is given back; null: it is. */
  disposeWhen(variable: TensorVariable, when: Variable | null): void {
    const tensor = (variable.actual ?? variable.traced)!;
    this.#journal.keepMap(this.disposed);
    this.disposed.set(tensor, { variable, source: variable.source, when });
  }

  setRequiresGrad(tensor: Tensor, source: Source, value: boolean): void {
    this.#journal.keepMap(this.switched);
    this.switched.set(tensor, { source, value });
  }

  #placesOf(object: object, source: Source, key: string): Map<string, Write> {
    this.met.touch(object, source, key);
    this.met.write(object, key);
    let places = this.#writes.get(object);
    if (!places) {
      this.#journal.keepMap(this.#writes);
      places = new Map();
      this.#writes.set(object, places);
    }
    this.#journal.keepMap(places);
    return places;
  }
}
