import { OwnMap } from '../../vm/language/primordials.ts';

/** Rolls back the changes that a trace has made to its own state, youngest first. */
export class Journal {
  readonly #undos: (() => void)[] = [];
  /** Where the attempts in progress begin. */
  readonly #marks: number[] = [];
  /** The latest copy of each collection, and its place among the undos. */
  readonly #kept = new OwnMap<object, { readonly at: number; readonly undo: () => void }>();

  /** From now on changes are noted; pass the result to `undo`. */
  open(): number {
    this.#marks.push(this.#undos.length);
    return this.#undos.length;
  }

  close(): void {
    this.#marks.pop();
    if (this.#marks.length > 0) return;
    this.#undos.length = 0;
    this.#kept.clear();
  }

  undo(to: number): void {
    while (this.#undos.length > to) this.#undos.pop()!();
  }

  /** Called before a change, with what takes it back. */
  note(undo: () => void): void {
    if (this.#marks.length > 0) this.#undos.push(undo);
  }

  /** Called before a list is changed. */
  keepList<T>(list: T[]): void {
    this.#keep(list, () => {
      const before = [...list];
      return () => {
        list.splice(0, list.length, ...before);
      };
    });
  }

  /** Called before a set is changed. */
  keepSet<T>(set: Set<T>): void {
    this.#keep(set, () => {
      const before = [...set];
      return () => {
        set.clear();
        for (const item of before) set.add(item);
      };
    });
  }

  /** Called before a map is changed; its order comes back, too. */
  keepMap<K, V>(map: Map<K, V>): void {
    this.#keep(map, () => {
      const before = [...map];
      return () => {
        map.clear();
        for (const [key, value] of before) map.set(key, value);
      };
    });
  }

  /** One copy per attempt: the first holds what the collection was when the attempt began. */
  #keep(collection: object, copy: () => () => void): void {
    const mark = this.#marks.at(-1);
    if (mark === undefined) return;
    const kept = this.#kept.get(collection);
    if (kept && kept.at >= mark && this.#undos[kept.at] === kept.undo) return;
    const undo = copy();
    this.#kept.set(collection, { at: this.#undos.push(undo) - 1, undo });
  }
}
