import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { closureOf } from '../vm/frames/function-of.ts';
import { readableIn } from '../vm/frames/held.ts';
import { IteratorRecord } from '../vm/language/iterator-record.ts';

/**
 * Tracks the arrays, objects, cells and closures that a run created, and the tensors reachable through them, like
 * reference counting. Foreign objects are not inspected.
 */
export class MadeObjects {
  readonly #made = new WeakSet<object>();
  readonly #iterated = new WeakMap<object, unknown>();
  /** Tensors that were stored in a created object or read from one. */
  readonly #inside = new Set<Tensor>();

  has(value: unknown): value is object {
    return typeof value === 'object' && value !== null && this.#made.has(value);
  }

  /** Whether its tensors may become unreachable with it. */
  isHolder(value: unknown): boolean {
    return this.has(value) || closureOf(value) !== undefined || IteratorRecord.is(value);
  }

  isInside(tensor: Tensor): boolean {
    return this.#inside.has(tensor);
  }

  /** Records a new object. */
  add(value: unknown): void {
    if (typeof value !== 'object' || value === null || value instanceof Tensor) return;
    this.#made.add(value);
    for (const part of valuesIn(value)) this.put(part);
  }

  /** Called when the value is stored in a created object. */
  put(value: unknown): void {
    if (value instanceof Tensor) this.#inside.add(value);
  }

  iterate(iterator: unknown, iterable: unknown): void {
    if (IteratorRecord.is(iterator)) this.#iterated.set(iterator, iterable);
  }

  /** Removes and returns tensors of created objects that are reachable neither from the frames nor from `value`. */
  takeUnreachable(frames: readonly Frame[], value?: unknown): Tensor[] {
    if (this.#inside.size === 0) return [];
    const roots = frames.flatMap((frame) => [
      ...readableIn(frame),
      frame.thisValue,
      ...frame.closure.cells,
    ]);
    const reached = this.reachableFrom([...roots, value]);
    const gone = [...this.#inside].filter((tensor) => !reached.has(tensor));
    for (const tensor of gone) this.#inside.delete(tensor);
    return gone;
  }

  /** Returns the values, and everything in created objects among them. */
  reachableFrom(values: readonly unknown[]): ReadonlySet<unknown> {
    const reached = new Set<unknown>(values);
    // Also visits elements added meanwhile.
    for (const value of reached) {
      const closure = closureOf(value);
      if (closure) {
        for (const cell of closure.cells) reached.add(cell);
        reached.add(closure.lexicalThis?.value);
      } else if (IteratorRecord.is(value)) {
        reached.add(value.current);
        reached.add(this.#iterated.get(value));
      } else if (this.has(value)) for (const part of valuesIn(value)) reached.add(part);
    }
    return reached;
  }
}

/** Returns an object's contents without calling getters. */
function valuesIn(object: object): unknown[] {
  if (object instanceof Map) return [...object.entries()].flat();
  if (object instanceof Set) return [...object];
  return Object.values(Object.getOwnPropertyDescriptors(object)).map(({ value }) => value);
}
