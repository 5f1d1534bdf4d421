import type { Holder } from '../../../runtime/device/holder.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import { closureOf } from '../../vm/frames/function-of.ts';
import { forEachHeld } from '../../vm/frames/held.ts';
import { type CopiesViews, SavedMemory } from './saved-views.ts';

const none: ReadonlySet<Tensor> = new Set();

/** The objects that one run of an entry has made. */
export interface Made {
  /** Results that no effect has stored. */
  readonly own: readonly Tensor[];
  /** Results that an effect has stored, perhaps in a container of the frames'. */
  readonly stored: readonly Tensor[];
  /** Arrays, objects, Maps, Sets, cells and closures that frames, effects and each other hold. */
  readonly containers: readonly object[];
  /** Values held by iterators, generators, bound functions and objects with accessors. */
  readonly captured: readonly unknown[];
}

/**
 * Tensors that cross a graph break and that nothing but the frames holds: results of one subgraph that a later one
 * reads, in registers, or in arrays, objects and closures that the call has made. The user never sees them, so they are
 * freed when no frame leads to them any more. What native code or another object refers to is not ours any
 * longer.
 */
export class OwnedTensors {
  /** Held by registers alone. Made when the first tensor comes: most calls own none. */
  #made: Set<Tensor> | undefined;
  /** Held by containers, and perhaps by registers: these are not donated to subgraphs. */
  #contained: Set<Tensor> | undefined;
  #containers: Set<object> | undefined;
  /** During a run: what effects put into containers, and what they put elsewhere. */
  #stored: Set<unknown> | undefined;
  #escaped: Set<object> | undefined;
  /** Made when a subgraph keeps such a tensor for backward. */
  #savedMemory: SavedMemory | undefined;
  /** False: the call has had no break, and may leave this to another call. */
  isUsed = false;

  /** No register holds such a tensor alone. */
  get isEmpty(): boolean {
    return this.#owned.size === 0;
  }

  /** Only registers hold it. */
  has(tensor: Tensor): boolean {
    return this.#owned.has(tensor);
  }

  get #owned(): ReadonlySet<Tensor> {
    return this.#made ?? none;
  }

  /** Nothing that the call has made is to be followed: the usual case of a function without breaks. */
  get followsNothing(): boolean {
    return this.#ownsNothing && !this.#containers;
  }

  get #ownsNothing(): boolean {
    return this.#owned.size === 0 && (this.#contained?.size ?? 0) === 0;
  }

  /** Made natively, and held by a register alone. */
  add(tensor: Tensor): void {
    this.isUsed = true;
    this.#made ??= new Set();
    this.#made.add(tensor);
  }

  /** Returned by native code: an array of tensors, of which all are new but the operands. */
  addArray(array: readonly unknown[], operands: ReadonlySet<unknown>): void {
    const tensors = array.filter((item) => item instanceof Tensor && !operands.has(item));
    if (tensors.length === 0) return;
    this.isUsed = true;
    this.#containers ??= new Set();
    this.#containers.add(array);
    for (const tensor of tensors) {
      this.add(tensor as Tensor);
      this.#contain(tensor);
    }
  }

  /** No register holds it any more. */
  release(tensor: Tensor): void {
    this.#dispose(tensor);
  }

  /** The function returns: what its value leads to stays, the rest goes. */
  leave(value: unknown, made: Made): void {
    this.isUsed = true;
    this.#register(made);
    this.escape(value);
    this.disposeAll();
  }

  /** Execution continues in `frames`. */
  moveTo(frames: readonly Frame[], made: Made): void {
    this.isUsed = true;
    for (const output of made.own) this.add(output);
    this.#register(made);
    if (this.#ownsNothing) return;
    const held = new Set<unknown>();
    forEachHeld(frames, (value) => held.add(value));
    for (const tensor of this.#owned) if (!held.has(tensor)) this.#dispose(tensor);
    if (this.#containers) this.#disposeUnreachable(held, this.#containers);
  }

  /** An effect puts the value into an object. */
  store(object: unknown, value: unknown): void {
    if (!this.#containers?.has(object as object)) {
      this.escape(value);
      return;
    }
    this.isUsed = true;
    this.#stored ??= new Set();
    this.#stored.add(value);
  }

  /** Native code, or an object from elsewhere, has had the value. */
  escape(value: unknown): void {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return;
    this.isUsed = true;
    // No `instanceof`: it would run a trap of a user's Proxy.
    this.#made?.delete(value as Tensor);
    this.#contained?.delete(value as Tensor);
    this.#escaped ??= new Set();
    this.#escaped.add(value);
    if (!this.#containers?.delete(value)) return;
    for (const item of itemsOf(value)) this.escape(item);
  }

  /** A subgraph has run. `holders`: per input the memory that it had, null where it isn't one of these tensors'. */
  noteSaved(subgraph: CopiesViews, holders: readonly (Holder | null)[], peak: number): void {
    this.isUsed = true;
    this.#savedMemory ??= new SavedMemory();
    this.#savedMemory.noteRun(peak, subgraph.last.planned.backward?.plan.predicted.peakBytes ?? 0);
    for (const each of subgraph.lastSavedInputs) {
      const holder = holders[each.number];
      if (holder && holder.bytes > each.bytes) this.#savedMemory.note(holder, subgraph, each);
    }
  }

  /** The call is over. */
  disposeAll(): void {
    for (const tensor of this.#owned) this.#dispose(tensor);
    for (const tensor of this.#contained ?? none) this.#dispose(tensor);
    this.#savedMemory?.settle();
  }

  #dispose(tensor: Tensor): void {
    this.#made?.delete(tensor);
    this.#contained?.delete(tensor);
    tensor.dispose();
  }

  /** Registers the objects that a run has made, and the effects' use of them. */
  #register({ containers, stored, captured }: Made): void {
    if (containers.length > 0) this.#containers ??= new Set();
    for (const container of containers) this.#containers!.add(container);
    for (const container of containers) for (const item of itemsOf(container)) this.#contain(item);
    if (this.#stored) {
      for (const output of stored) if (this.#stored.has(output)) this.add(output);
      for (const value of this.#stored) this.#contain(value);
    }
    const escaped = [...captured, ...(this.#escaped ?? [])];
    this.#stored = undefined;
    for (const value of escaped) this.escape(value);
    this.#escaped = undefined;
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
      else tensor.dispose();
    }
  }
}

/** All that an object leads to, without running a getter. */
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
