import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { HostTypeName } from '../../guards/host-types.ts';
import type { Source } from '../../guards/source.ts';
import type { VariablePlace } from '../../vm/bytecode/frame.ts';
import { OwnMap, OwnSet } from '../../vm/language/primordials.ts';
import { present, resolved, specialized } from '../variables/unions.ts';
import {
  absent,
  type NewArrayVariable,
  type NewCollectionVariable,
  type NewHostVariable,
  newArray,
  type ObjectVariable,
  type TensorVariable,
  type Variable,
} from '../variables/variable.ts';
import type { Journal } from './journal.ts';
import { asVariable, lastKeysIn } from './last-keys.ts';
import { ObjectsMet } from './objects-met.ts';

/** One place that the trace has written to. */
export interface Write {
  readonly object: Source;
  readonly key: string | symbol;
  /** `absent`: the property is deleted; it may be so on some paths only. */
  readonly value: Variable;
  /** Deleted before it is written, so that it becomes the last key. */
  readonly anew: boolean;
}

/** The order of keys of a pre-existing object, where paths have left several. */
export interface KeyOrderWrite {
  readonly object: Source;
  readonly which: Variable;
}

/** A pre-existing array that the trace changes as a whole. */
export interface OuterArray {
  readonly source: Source;
  /** The array's future content: appended to the present one, or instead of it. */
  readonly content: NewArrayVariable;
  /** Its elements are known one by one: `content` are all of them. */
  whole: boolean;
}

/** A pre-existing Map or Set all of whose entries the trace has taken over. */
export interface TakenCollection {
  readonly source: Source;
  /** The collection's future content. */
  readonly content: NewCollectionVariable;
}

/** An instance of a built-in type that the trace changes, with the state that it gets. */
export interface ChangedHost {
  readonly source: Source;
  readonly type: HostTypeName;
  readonly value: object;
}

/** A tensor that is freed: always, or where a boolean of the program says so. */
export interface Disposal {
  readonly variable: TensorVariable;
  readonly source: Source | null;
  readonly when: Variable | null;
}

/** A change of a Map or Set after the run. */
export interface CollectionChange {
  readonly object: object;
  readonly collection: Source;
  readonly operation: 'set' | 'add' | 'delete' | 'clear';
  readonly key: Variable | null;
  readonly value: Variable | null;
}

/**
 * The traced code's changes of objects that existed before: nothing happens until the run, where the last value of each
 * place is written after the graph. Objects are distinguished by identity, so a write through one path is seen through
 * another.
 */
export class EffectLog {
  readonly #writes = new OwnMap<object, Map<string | symbol, Write>>();
  readonly #orders = new OwnMap<object, KeyOrderWrite>();
  readonly #arrays = new OwnMap<object, OuterArray>();
  readonly #collections = new OwnMap<object, TakenCollection>();
  readonly #hosts = new OwnMap<object, NewHostVariable>();
  readonly #journal: Journal;
  /** Number of changes so far, including changes that were rolled back. */
  changes = 0;
  /** The variables around functions that were assigned: module namespaces show them as properties. */
  readonly variables = new OwnSet<VariablePlace>();
  /** In the order of the user's code. */
  readonly collectionChanges: CollectionChange[] = [];
  /** The objects that a later call must not confuse. */
  readonly met = new ObjectsMet();
  /** Tensors that are freed at the end: the user's own, and values of the program. */
  readonly disposed = new Map<Tensor, Disposal>();

  /** Outer tensors that outlive the `tidy` around the call. */
  readonly kept = new Map<Tensor, Source>();
  /** Kept tensors of data-dependent shape. Here and below a path that is not taken keeps too much at most. */
  readonly keptOpen = new WeakSet<Tensor>();
  /** Kept tensors have become elements of arrays of any length, which then are kept whole. */
  keepsElements = false;

  /** Outer tensors that gradients flow to from now on, or no more. */
  readonly switched = new Map<Tensor, { readonly source: Source; readonly value: boolean }>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /**
   * Returns the value that the trace itself has written there, `absent` included; call it for every read of the
   * property.
   */
  written(object: object, source: Source, key: string | symbol): Variable | undefined {
    this.met.touch(object, source, key);
    return this.#writes.get(object)?.get(key)?.value;
  }

  write(object: object, source: Source, key: string | symbol, value: Variable): void {
    const places = this.#placesOf(object, source, key);
    const earlier = places.get(key);
    const isGone = earlier !== undefined && resolved(earlier.value) === absent;
    const anew = earlier?.anew === true || (isGone && value !== absent);
    // A key that was deleted comes back as the last one.
    if (isGone) places.delete(key);
    places.set(key, { object: source, key, value, anew });
  }

  /** Where the keys of the object stand that are new or were deleted before, as computed by `last-keys.ts`. */
  orderOf(object: object): Variable {
    const order = this.#orders.get(object);
    if (order) return resolved(order.which);
    const writes = [...(this.#writes.get(object)?.values() ?? [])];
    const isGone = ({ value }: Write) => resolved(value) === absent;
    const last = writes.filter((write) => {
      return !isGone(write) && (write.anew || !Object.hasOwn(object, write.key));
    });
    const [keys, gone] = [last, writes.filter(isGone)].map((each) => each.flatMap(nameOf));
    return asVariable({ last: keys!, gone: gone! });
  }

  /** Known, or one that the program chooses. */
  setOrder(object: object, source: Source, order: Variable): void {
    this.#journal.keepMap(this.#orders);
    const keys = lastKeysIn(order);
    if (!keys) {
      this.#orders.set(object, { object: source, which: order });
      return;
    }
    this.#orders.delete(object);
    const places = this.#writes.get(object);
    if (!places) return;
    this.#journal.keepMap(places);
    for (const key of keys.last) {
      const write = places.get(key);
      if (!write) continue;
      places.delete(key);
      places.set(key, { ...write, anew: Object.hasOwn(object, key) });
    }
  }

  /** Called before a key is added or the keys are listed. Throws UnionMet if their order is data-dependent. */
  settleOrder(object: object): void {
    const order = this.#orders.get(object);
    if (order) this.setOrder(object, order.object, specialized(order.which));
  }

  /** Orders that the program chooses. */
  orders(): Iterable<KeyOrderWrite> {
    return this.#orders.values();
  }

  /** The keys that the object has after the writes, in their order. Throws UnionMet. */
  keysOf(object: object, before: readonly string[]): string[] {
    this.settleOrder(object);
    const sketch = Object.create(null) as Record<string, true>;
    before.forEach((key) => {
      sketch[key] = true;
    });
    for (const { key, value, anew } of this.#writes.get(object)?.values() ?? []) {
      const isThere = present(value) !== undefined;
      if (typeof key === 'symbol') continue;
      if (!isThere || anew) delete sketch[key];
      if (isThere) sketch[key] = true;
    }
    return Object.keys(sketch);
  }

  /** Whether a property with a symbol as key was written or deleted. */
  hasSymbols(object: object): boolean {
    const keys = [...(this.#writes.get(object)?.keys() ?? [])];
    return keys.some((key) => typeof key === 'symbol');
  }

  /** Whether anything of the object was changed. */
  isWritten(object: object): boolean {
    return (
      this.#writes.has(object) ||
      this.#arrays.has(object) ||
      this.#collections.has(object) ||
      this.#hosts.has(object)
    );
  }

  /** Iterates over the values that the trace has put into the object, `absent` for those it has deleted. */
  *putInto(object: object): Generator<Variable> {
    for (const { value } of this.#writes.get(object)?.values() ?? []) yield value;
    yield* this.#arrays.get(object)?.content.elements ?? [];
    for (const { key, value } of this.#collections.get(object)?.content.entries.values() ?? []) {
      yield key;
      yield value;
    }
    for (const change of this.collectionChanges) {
      if (change.object !== object) continue;
      if (change.key) yield change.key;
      if (change.value) yield change.value;
    }
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
    this.changes++;
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
      for (const key of places.keys()) {
        if (typeof key === 'string' && /^\d+$/.test(key)) places.delete(key);
      }
    }
    this.#journal.note(() => {
      array.whole = false;
    });
    array.whole = true;
  }

  arrays(): Iterable<OuterArray> {
    return this.#arrays.values();
  }

  changeCollection(change: CollectionChange): void {
    this.changes++;
    this.met.change(change.object, change.collection);
    this.#journal.keepList(this.collectionChanges);
    this.collectionChanges.push(change);
  }

  collection(object: object): TakenCollection | undefined {
    return this.#collections.get(object);
  }

  collections(): Iterable<TakenCollection> {
    return this.#collections.values();
  }

  /** From now on `content` is the Map or Set, with what was done to it before. */
  takeCollection({ value, source }: ObjectVariable, content: NewCollectionVariable): void {
    this.changes++;
    this.met.change(value, source);
    this.#journal.keepList(this.collectionChanges);
    const others = this.collectionChanges.filter(({ object }) => object !== value);
    this.collectionChanges.splice(0, this.collectionChanges.length, ...others);
    this.#journal.keepMap(this.#collections);
    this.#collections.set(value, { source, content });
  }

  /** Returns the variable for an instance of a built-in type that the trace changes. */
  host(object: object): NewHostVariable | undefined {
    return this.#hosts.get(object);
  }

  /** From now on `content` is the object. */
  takeHost({ value, source }: ObjectVariable, content: NewHostVariable): void {
    this.changes++;
    this.met.change(value, source);
    this.#journal.keepMap(this.#hosts);
    this.#hosts.set(value, content);
  }

  *hosts(): Generator<ChangedHost> {
    for (const { outer, type, value } of this.#hosts.values()) {
      yield { source: outer!.source, type: type!, value };
    }
  }

  dispose(variable: TensorVariable): void {
    this.disposeWhen(variable, null);
  }

  /** `when`: the boolean of the program that says whether it is freed; null: it is. */
  disposeWhen(variable: TensorVariable, when: Variable | null): void {
    const tensor = (variable.actual ?? variable.traced)!;
    this.#journal.keepMap(this.disposed);
    this.disposed.set(tensor, { variable, source: variable.source, when });
  }

  keep(tensor: Tensor, source: Source): void {
    this.#journal.keepMap(this.kept);
    this.kept.set(tensor, source);
  }

  setRequiresGrad(tensor: Tensor, source: Source, value: boolean): void {
    this.changes++;
    this.#journal.keepMap(this.switched);
    this.switched.set(tensor, { source, value });
  }

  #placesOf(object: object, source: Source, key: string | symbol): Map<string | symbol, Write> {
    this.changes++;
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

/** The orders of keys are those of names; symbols stand after them. */
const nameOf = ({ key }: Write): string[] => (typeof key === 'string' ? [key] : []);
