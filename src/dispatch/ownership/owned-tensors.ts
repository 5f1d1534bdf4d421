import type { Holder } from '../../../runtime/memory/holder.ts';
import { tensorsIn } from '../../../runtime/tensor/lifetime.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import { closureOf } from '../../vm/frames/function-of.ts';
import { type CopiesViews, SavedMemory } from './saved-views.ts';

const none: ReadonlySet<Tensor> = new Set();

/**
 * Tensors that cross a graph break and that nothing but the frames' registers holds: results of one
 * subgraph that a later one reads. The user never sees them, so they are given back when no register
 * holds them any more. A tensor that native code or an object gets hold of is not ours any longer.
 */
export class OwnedTensors {
  /** Made when the first tensor comes: most calls own none. */
  #made: Set<Tensor> | undefined;
  /** Made when a subgraph keeps such a tensor for backward. */
  #savedMemory: SavedMemory | undefined;

  get isEmpty(): boolean {
    return this.#owned.size === 0;
  }

  has(tensor: Tensor): boolean {
    return this.#owned.has(tensor);
  }

  get #owned(): ReadonlySet<Tensor> {
    return this.#made ?? none;
  }

  /** Made natively, and held by a register alone. */
  add(tensor: Tensor): void {
    this.#made ??= new Set();
    this.#made.add(tensor);
  }

  /** No register holds it any more. */
  release(tensor: Tensor): void {
    this.#dispose(tensor);
  }

  /** The function returns: what its value holds stays, the rest goes. */
  leave(value: unknown, made: readonly unknown[]): void {
    if (this.#owned.size === 0) return;
    this.#escapeFrom(made);
    for (const tensor of tensorsIn(value)) this.#made?.delete(tensor);
    this.disposeAll();
  }

  /** Execution goes on in `frames`; `outputs` were just made by a subgraph. */
  moveTo(frames: readonly Frame[], outputs: readonly Tensor[], made: readonly unknown[]): void {
    if (outputs.length > 0) this.#made ??= new Set();
    for (const output of outputs) this.#made!.add(output);
    if (this.#owned.size === 0) return;
    this.#escapeFrom(made);
    const held = new Set<unknown>();
    for (const { registers, args, thisValue } of frames) {
      for (const value of registers) held.add(value);
      for (const value of args) held.add(value);
      held.add(thisValue);
    }
    for (const tensor of this.#owned) if (!held.has(tensor)) this.#dispose(tensor);
  }

  /** Native code has had the value. */
  escape(value: unknown): void {
    // No `instanceof`: it would run a trap of a user's Proxy.
    this.#made?.delete(value as Tensor);
  }

  /** A subgraph has run. `holders`: per input the memory that it had, null where it isn't one of these tensors'. */
  noteSaved(subgraph: CopiesViews, holders: readonly (Holder | null)[], peak: number): void {
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
    this.#savedMemory?.settle();
  }

  #dispose(tensor: Tensor): void {
    this.#made?.delete(tensor);
    tensor.dispose();
  }

  #escapeFrom(made: readonly unknown[]): void {
    for (const object of made) {
      this.escape(closureOf(object)?.lexicalThis?.value);
      if (typeof object !== 'object' || object === null) continue;
      if (object instanceof Map || object instanceof Set) {
        for (const [key, value] of object.entries()) {
          this.escape(key);
          this.escape(value);
        }
      }
      // An array, object or cell that was made just now: reading it runs nothing of the user's.
      for (const value of Object.values(object)) this.escape(value);
    }
  }
}
