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
import { content, ObjectsMet } from './objects-met.ts';

/** A property that the trace wrote. */
export interface Write {
  readonly object: Source;
  readonly key: string | symbol;
  /** `absent` if the property is deleted; a union may be absent on some paths only. */
  readonly value: Variable;
  /** True if the property is deleted before it is written, so that it becomes the last key. */
  readonly reinserted: boolean;
}

/** The key order of a pre-existing object, if paths leave different orders. */
interface KeyOrderWrite {
  readonly object: Source;
  readonly which: Variable;
}

/** A pre-existing array that the trace changes as a whole. */
export interface OuterArray {
  readonly source: Source;
  /** The array's future content, which is appended to the present content or replaces it. */
  readonly content: NewArrayVariable;
  /** True if all elements are known: `content` then replaces the array's elements. */
  whole: boolean;
}

/** A pre-existing Map or Set all of whose entries the trace represents. */
export interface TakenCollection {
  readonly source: Source;
  /** The collection's future content. */
  readonly content: NewCollectionVariable;
}

/** An instance of a built-in type that the trace changes, with its new state. */
interface ChangedHost {
  readonly source: Source;
  readonly type: HostTypeName;
  readonly value: object;
}

/** A tensor that is disposed: always, or if a device boolean is true. */
export interface Disposal {
  readonly variable: TensorVariable;
  readonly source: Source | null;
  readonly when: Variable | null;
  /**
   * Whether a check precedes it, or a kernel whose rejection the code may catch: if that fails, the code may take
   * another path and not dispose the tensor.
   */
  readonly afterCheck: boolean;
}

/** A change of a Map or Set, made after the run. */
export interface CollectionChange {
  readonly object: object;
  readonly collection: Source;
  readonly operation: 'set' | 'add' | 'delete' | 'clear';
  readonly key: Variable | null;
  readonly value: Variable | null;
}

/**
 * The traced code's changes to pre-existing objects. They are made after the graph has run, with the last value of each
 * property. Objects are distinguished by identity, so that a write through one path is visible through another.
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
  /** Assigned variables that functions capture, which module namespaces expose as properties. */
  readonly variables = new OwnSet<VariablePlace>();
  /** In program order. */
  readonly collectionChanges: CollectionChange[] = [];
  /** The objects whose aliasing later calls must repeat. */
  readonly met = new ObjectsMet();
  /** Tensors that are disposed at the end: the user's tensors and graph values. */
  readonly disposed = new Map<Tensor, Disposal>();

  /** Outer tensors on which `keep()` was called, so that they outlive the `tidy` around the call. */
  readonly kept = new Map<Tensor, Source>();
  /** Kept tensors of data-dependent shape. This field and the next may keep too much if a path isn't taken. */
  readonly keptOpen = new WeakSet<Tensor>();
  /** Whether kept tensors have become elements of arrays of any length, which are then kept as a whole. */
  keepsElements = false;

  /** Outer tensors whose `requiresGrad` was changed. */
  readonly switched = new Map<Tensor, { readonly source: Source; readonly value: boolean }>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Returns the value that the trace wrote, `absent` included. Must be called for every read of a property. */
  written(object: object, source: Source, key: string | symbol): Variable | undefined {
    this.met.touch(object, source, key);
    return this.#writes.get(object)?.get(key)?.value;
  }

  write(object: object, source: Source, key: string | symbol, value: Variable): void {
    const places = this.#placesOf(object, source, key);
    const earlier = places.get(key);
    const isGone = earlier !== undefined && resolved(earlier.value) === absent;
    const reinserted = earlier?.reinserted === true || (isGone && value !== absent);
    // A deleted key that is written again becomes the last key.
    if (isGone) places.delete(key);
    places.set(key, { object: source, key, value, reinserted });
  }

  /**
   * Returns the order of keys that are new or were deleted before being written, as computed by `last-keys.ts`.
   */
  orderOf(object: object): Variable {
    const order = this.#orders.get(object);
    if (order) return resolved(order.which);
    const writes = [...(this.#writes.get(object)?.values() ?? [])];
    const isGone = ({ value }: Write) => resolved(value) === absent;
    const last = writes.filter((write) => {
      return !isGone(write) && (write.reinserted || !Object.hasOwn(object, write.key));
    });
    const [keys, gone] = [last, writes.filter(isGone)].map((each) => each.flatMap(nameOf));
    return asVariable({ last: keys!, gone: gone! });
  }

  /** Sets an order that is either known or data-dependent. */
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
      places.set(key, { ...write, reinserted: Object.hasOwn(object, key) });
    }
  }

  /**
   * Must be called before a key is added or the keys are listed. Throws UnionMet if their order is data-dependent.
   */
  settleOrder(object: object): void {
    const order = this.#orders.get(object);
    if (order) this.setOrder(object, order.object, specialized(order.which));
  }

  /** Returns the data-dependent key orders. */
  orders(): Iterable<KeyOrderWrite> {
    return this.#orders.values();
  }

  /**
   * Returns the object's enumerable keys after the writes, in order. Throws UnionMet if the order is data-dependent.
   * `isHidden`: whether a key that isn't among those `before` is one of a property that isn't enumerable.
   */
  keysOf(object: object, before: readonly string[], isHidden: (key: string) => boolean): string[] {
    this.settleOrder(object);
    const sketch = Object.create(null) as Record<string, true>;
    before.forEach((key) => {
      sketch[key] = true;
    });
    for (const { key, value, reinserted } of this.#writes.get(object)?.values() ?? []) {
      const isThere = present(value) !== undefined;
      if (typeof key === 'symbol') continue;
      if (!isThere || reinserted) delete sketch[key];
      // An assignment leaves a property as enumerable as it was.
      if (isThere && (sketch[key] || reinserted || !isHidden(key))) sketch[key] = true;
    }
    return Object.keys(sketch);
  }

  /** Returns whether a property with a symbol key was written or deleted. */
  hasSymbols(object: object): boolean {
    const keys = [...(this.#writes.get(object)?.keys() ?? [])];
    return keys.some((key) => typeof key === 'symbol');
  }

  /** Returns whether the object was changed in any way. */
  isWritten(object: object): boolean {
    return (
      this.#writes.has(object) ||
      this.#arrays.has(object) ||
      this.#collections.has(object) ||
      this.#hosts.has(object)
    );
  }

  /** Iterates over the values that the trace put into the object, `absent` for deleted ones. */
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

  /** Iterates over the values that the trace has written at the given keys of an object, or anywhere in it. */
  *partsChanged(
    object: object,
    keys: ReadonlySet<string | symbol>,
  ): Generator<Variable | null | undefined> {
    const isWhole = keys.has(content);
    for (const { key, value } of this.#writes.get(object)?.values() ?? []) {
      if (isWhole || keys.has(key)) yield value;
    }
    if (!isWhole) return;
    yield this.#arrays.get(object)?.content;
    yield this.#collections.get(object)?.content;
    yield this.#hosts.get(object);
    for (const change of this.collectionChanges) {
      if (change.object === object) yield* [change.key, change.value];
    }
  }

  /** Returns the properties and elements among those read that the trace has written. */
  writtenAmong(reads: ReadonlyMap<object, ReadonlySet<string | symbol>>): Source[] {
    return [...reads].flatMap(([object, keys]) => {
      const written = [...(this.#writes.get(object)?.values() ?? [])];
      return written.flatMap(({ object: base, key }): Source[] => {
        return keys.has(key) ? [{ kind: 'property', base, key }] : [];
      });
    });
  }

  *writes(): Generator<Write> {
    for (const places of this.#writes.values()) yield* places.values();
  }

  /** Iterates over the writes together with their objects. */
  *entries(): Generator<readonly [object, Write]> {
    for (const [object, places] of this.#writes) {
      for (const write of places.values()) yield [object, write];
    }
  }

  array(object: object): OuterArray | undefined {
    return this.#arrays.get(object);
  }

  /** Returns the record of an array that will be changed as a whole. */
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

  /** Makes the record's content the array's whole content, which includes earlier writes to single elements. */
  takeWhole(object: object, array: OuterArray): void {
    const places = this.#writes.get(object);
    if (places) {
      this.#journal.keepMap(places);
      for (const key of places.keys()) {
        if (typeof key === 'string' && /^\d+$/.test(key)) places.delete(key);
      }
    }
    this.#journal.set(array, 'whole', true);
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

  /** Replaces the content of the Map or Set by `content`, which includes its earlier changes. */
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

  /** Replaces the object's state by `content`. */
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

  dispose(variable: TensorVariable, afterCheck: boolean): void {
    this.#dispose(variable, null, afterCheck);
  }

  /** `when`: the device boolean that decides whether the tensor is disposed. */
  disposeWhen(variable: TensorVariable, when: Variable): void {
    this.#dispose(variable, when, true);
  }

  #dispose(variable: TensorVariable, when: Variable | null, afterCheck: boolean): void {
    const tensor = (variable.actual ?? variable.traced)!;
    this.#journal.keepMap(this.disposed);
    this.disposed.set(tensor, { variable, source: variable.source, when, afterCheck });
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

/** Orders contain names only; symbol keys come after them. */
const nameOf = ({ key }: Write): string[] => (typeof key === 'string' ? [key] : []);
