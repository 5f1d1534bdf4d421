/** How to take back what a trace has done to its own state, youngest change first. */
export class Journal {
  readonly #undos: (() => void)[] = [];
  #open = 0;

  /** From now on changes are noted; the answer is for `undo`. */
  open(): number {
    this.#open++;
    return this.#undos.length;
  }

  close(): void {
    if (--this.#open === 0) this.#undos.length = 0;
  }

  undo(to: number): void {
    while (this.#undos.length > to) this.#undos.pop()!();
  }

  /** Called before a change, with what takes it back. */
  note(undo: () => void): void {
    if (this.#open > 0) this.#undos.push(undo);
  }

  /** Called before a list is changed. */
  keepList<T>(list: T[]): void {
    if (this.#open === 0) return;
    const before = [...list];
    this.#undos.push(() => {
      list.splice(0, list.length, ...before);
    });
  }

  /** Called before a set is changed. */
  keepSet<T>(set: Set<T>): void {
    if (this.#open === 0) return;
    const before = [...set];
    this.#undos.push(() => {
      set.clear();
      for (const item of before) set.add(item);
    });
  }

  /** Called before a map is changed; its order comes back, too. */
  keepMap<K, V>(map: Map<K, V>): void {
    if (this.#open === 0) return;
    const before = [...map];
    this.#undos.push(() => {
      map.clear();
      for (const [key, value] of before) map.set(key, value);
    });
  }
}
