import type { Holder } from '../../../runtime/device/holder.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import { closureOf } from '../../vm/frames/function-of.ts';
import { anyFrameContains, forEachHeld } from '../../vm/frames/held.ts';
import { type CopiesViews, SavedMemory } from './saved-views.ts';

const none: ReadonlySet<Tensor> = new Set();

/** The objects that one run of an entry created. */
export interface CreatedObjects {
  /** Results that no effect has stored. */
  readonly own: readonly Tensor[];
  /** Results that an effect has stored, possibly in a container of the frames. */
  readonly stored: readonly Tensor[];
  /** Arrays, objects, Maps, Sets, cells and closures that frames, effects and each other reference. */
  readonly containers: readonly object[];
  /** Values referenced by iterators, generators, bound functions and objects with accessors. */
  readonly captured: readonly unknown[];
}

/**
 * Tensors that cross a graph break and that only the frames reference: results of one subgraph that a later one reads,
 * in registers, or in arrays, objects and closures that the call created. The user never sees them, so they are freed
 * once they are unreachable from the frames. Tensors that native code or another object references are not owned.
 */
export class OwnedTensors {
  /** Tensors referenced only by registers. Created with the first tensor: most calls own none. */
  #made: Set<Tensor> | undefined;
  /** Tensors referenced by containers, and possibly by registers: these are never donated to subgraphs. */
  #contained: Set<Tensor> | undefined;
  #containers: Set<object> | undefined;
  /** Containers that a graph or native code gave a tensor or another container. */
  #holding: WeakSet<object> | undefined;
  /** During a run: values that effects store in containers or elsewhere. */
  #stored: Set<unknown> | undefined;
  #escaped: Set<object> | undefined;
  /** Created when a subgraph first keeps such a tensor for backward. */
  #savedMemory: SavedMemory | undefined;
  /** False if the call has had no break: another call may then reuse this record. */
  isUsed = false;

  /** Whether no owned tensor is referenced by registers alone. */
  get isEmpty(): boolean {
    return this.#owned.size === 0;
  }

  /** Whether only registers reference the tensor. */
  has(tensor: Tensor): boolean {
    return this.#owned.has(tensor);
  }

  /** Whether the call has created the object, which has no accessors and which nothing else refers to. */
  isContainer(value: unknown): boolean {
    return this.#containers?.has(value as object) ?? false;
  }

  /** Adds an object created natively, which only registers hold, and which holds no tensor yet. */
  addContainer(value: unknown): void {
    this.isUsed = true;
    this.#containers ??= new Set();
    this.#containers.add(value as object);
  }

  /** Called when code between graphs has put values into a container of the call. */
  notePut(container: unknown, values: readonly unknown[]): void {
    if (values.some((value) => this.mayHoldTensor(value))) this.#noteHolding(container as object);
  }

  /** Whether the value is a container of the call that leads to tensors, directly or through other containers. */
  mayHoldTensor(value: unknown): boolean {
    if (!this.#contained?.size || !this.#holding) return false;
    return this.isContainer(value) && this.#holding.has(value as object);
  }

  get #owned(): ReadonlySet<Tensor> {
    return this.#made ?? none;
  }

  /** Whether no object created by the call has to be tracked: the usual case for a function without breaks. */
  get followsNothing(): boolean {
    return this.#ownsNothing && !this.#containers;
  }

  get #ownsNothing(): boolean {
    return this.#owned.size === 0 && (this.#contained?.size ?? 0) === 0;
  }

  /** Adds a tensor that native code created and only a register references. */
  add(tensor: Tensor): void {
    this.isUsed = true;
    this.#made ??= new Set();
    this.#made.add(tensor);
  }

  /** Adds the tensors of an array returned by native code: all are new except the operands. */
  addArray(array: readonly unknown[], operands: Iterable<unknown>): void {
    const given = new Set(operands);
    const tensors = array.filter((item) => item instanceof Tensor && !given.has(item));
    if (tensors.length === 0) return;
    this.isUsed = true;
    this.#containers ??= new Set();
    this.#containers.add(array);
    this.#noteHolding(array);
    for (const tensor of tensors) {
      this.add(tensor as Tensor);
      this.#contain(tensor);
    }
  }

  /** Called when no register references the tensor any longer. */
  release(tensor: Tensor): void {
    this.#dispose(tensor);
  }

  /** Called when the function returns: keeps everything reachable from its value, and frees the rest. */
  leave(value: unknown, created: CreatedObjects): void {
    this.isUsed = true;
    this.#register(created);
    this.#giveUp(value);
    this.disposeAll();
  }

  /** Called when execution continues in `frames`. */
  moveTo(frames: readonly Frame[], created: CreatedObjects): void {
    this.isUsed = true;
    for (const output of created.own) this.add(output);
    this.#register(created);
    if (this.#ownsNothing) return;
    const isFew = this.#owned.size <= 4 && !this.#containers;
    const held = isFew ? null : new Set<unknown>();
    if (held) forEachHeld(frames, (value) => held.add(value));
    for (const tensor of this.#owned) {
      if (!(held ? held.has(tensor) : anyFrameContains(frames, tensor))) this.#dispose(tensor);
    }
    if (held && this.#containers) this.#disposeUnreachable(held, this.#containers);
  }

  /** Called when an effect stores the value in an object. */
  store(object: unknown, value: unknown): void {
    if (!this.#containers?.has(object as object)) {
      this.escape(value);
      return;
    }
    this.isUsed = true;
    this.#stored ??= new Set();
    this.#stored.add(value);
    if (typeof value === 'object' || typeof value === 'function')
      this.#noteHolding(object as object);
  }

  /** Called when native code or a foreign object has seen the value. */
  escape(value: unknown): void {
    if (!isObject(value)) return;
    this.isUsed = true;
    this.#escaped ??= new Set();
    this.#escaped.add(value);
    if (this.#drop(value)) for (const item of itemsOf(value)) this.escape(item);
  }

  /** Like `escape`, after the outputs of the run have been added. */
  #giveUp(value: unknown): void {
    if (!isObject(value) || !this.#drop(value)) return;
    for (const item of itemsOf(value)) this.#giveUp(item);
  }

  /** Owns the value no longer. Returns whether it was a container. */
  #drop(value: object): boolean {
    // Not `instanceof`: it would run a trap of a user's Proxy.
    this.#made?.delete(value as Tensor);
    this.#contained?.delete(value as Tensor);
    return this.#containers?.delete(value) ?? false;
  }

  /**
   * Called after a subgraph has run. `holders`: for each input, its memory before the run; null if the input isn't
   * owned.
   */
  noteSaved(subgraph: CopiesViews, holders: readonly (Holder | null)[], peak: number): void {
    this.isUsed = true;
    this.#savedMemory ??= new SavedMemory();
    this.#savedMemory.noteRun(peak, subgraph.last.planned.backward?.plan.predicted.peakBytes ?? 0);
    for (const each of subgraph.lastSavedInputs) {
      const holder = holders[each.number];
      if (holder && holder.bytes > each.bytes) this.#savedMemory.note(holder, subgraph, each);
    }
  }

  /** Frees all tensors after the call. */
  disposeAll(): void {
    for (const tensor of this.#owned) this.#dispose(tensor);
    for (const tensor of this.#contained ?? none) this.#dispose(tensor);
    this.#savedMemory?.settle();
  }

  /**
   * Frees the tensor. The base of live views stays as long as they do: a write to one of them gives the others a new place
   * in the graph by way of their base.
   */
  #dispose(tensor: Tensor): void {
    this.#contained?.delete(tensor);
    this.#made?.delete(tensor);
    tensor.disposeAfterViews();
  }

  /** Registers the objects that a run created, and how effects use them. */
  #register({ containers, stored, captured }: CreatedObjects): void {
    if (containers.length > 0) this.#containers ??= new Set();
    for (const container of containers) this.#containers!.add(container);
    if (this.#stored) {
      for (const output of stored) if (this.#stored.has(output)) this.add(output);
      for (const value of this.#stored) this.#contain(value);
    }
    for (const container of containers) {
      for (const item of itemsOf(container)) {
        this.#contain(item);
        if (this.#contained?.has(item as Tensor) || this.isContainer(item))
          this.#noteHolding(container);
      }
    }
    this.#stored = undefined;
    for (const value of captured) this.#giveUp(value);
    if (this.#escaped) for (const value of this.#escaped) this.#giveUp(value);
    this.#escaped = undefined;
  }

  #noteHolding(container: object): void {
    this.#holding ??= new WeakSet();
    this.#holding.add(container);
  }

  #contain(value: unknown): void {
    if (!this.#made?.delete(value as Tensor)) return;
    this.#contained ??= new Set();
    this.#contained.add(value as Tensor);
  }

  #disposeUnreachable(held: ReadonlySet<unknown>, containers: Set<object>): void {
    const reached = new Set<unknown>(held);
    const inContainers = new Set<unknown>();
    for (const value of reached) {
      if (!containers.has(value as object)) continue;
      for (const item of itemsOf(value as object)) {
        reached.add(item);
        inContainers.add(item);
      }
    }
    for (const container of containers) if (!reached.has(container)) containers.delete(container);
    for (const tensor of this.#contained ?? none) {
      if (inContainers.has(tensor)) continue;
      this.#contained!.delete(tensor);
      if (held.has(tensor)) this.add(tensor);
      else this.#dispose(tensor);
    }
  }
}

function isObject(value: unknown): value is object {
  return value !== null && (typeof value === 'object' || typeof value === 'function');
}

/** Returns everything that an object references, without running a getter. */
function itemsOf(container: object): unknown[] {
  const items: unknown[] = [Object.getPrototypeOf(container)];
  for (const key of Reflect.ownKeys(container)) {
    const { value, get, set } = Reflect.getOwnPropertyDescriptor(container, key)!;
    items.push(value, get, set);
  }
  if (container instanceof Map) for (const entry of container) items.push(...entry);
  else if (container instanceof Set) for (const item of container) items.push(item);
  const closure = closureOf(container);
  if (closure) items.push(...closure.cells, closure.lexicalThis?.value, closure.homeObject);
  return items;
}
