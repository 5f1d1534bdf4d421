import { OwnMap, OwnSet } from '../../vm/language/primordials.ts';

/** Rolls back the changes that a trace made to its own state, latest first. */
export class Journal {
  readonly #undos: (() => void)[] = [];
  /** The start of each attempt in progress. */
  readonly #marks: number[] = [];
  /** The latest copy of each collection, with its position among the undo functions. */
  readonly #kept = new OwnMap<object, { readonly at: number; readonly undo: () => void }>();
  #changes = 0;
  #fresh: OwnSet<object> | null = null;

  /** Starts recording changes. Pass the result to `undo`. */
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

  /** Must be called before a change, with a function that undoes it. */
  note(undo: () => void, changed?: object): void {
    if (!changed || !this.#fresh?.has(changed)) this.#changes++;
    this.noteInput(undo);
  }

  /** Assigns a property, whose value rolling back restores. */
  set<T extends object, K extends keyof T>(object: T, key: K, value: T[K], changed?: object): void {
    const before = object[key];
    this.note(() => {
      object[key] = before;
    }, changed);
    object[key] = value;
  }

  /** Records that an object was created; `preservesObjects` ignores its changes. */
  made<T extends object>(object: T): T {
    this.#fresh?.add(object);
    return object;
  }

  /** The number of changes so far, including changes that were rolled back. */
  get changes(): number {
    return this.#changes;
  }

  /** Runs `body`, and returns whether it changed no pre-existing object, except for some objects. */
  preservesObjects(body: () => void, except: Iterable<object> = []): boolean {
    const [before, outer] = [this.#changes, this.#fresh];
    this.#fresh = new OwnSet();
    for (const object of except) this.#fresh.add(object);
    try {
      body();
      return this.#changes === before;
    } finally {
      this.#fresh = outer;
    }
  }

  /** Records that a tensor has become an input, which the traced code can't observe. */
  noteInput(undo: () => void): void {
    if (this.#marks.length > 0) this.#undos.push(undo);
  }

  /** Must be called before a list is changed. */
  keepList<T>(list: T[]): void {
    this.#keep(list, () => {
      const before = [...list];
      return () => {
        list.splice(0, list.length, ...before);
      };
    });
  }

  /** Must be called before a set is changed. */
  keepSet<T>(set: Set<T>): void {
    this.#keep(set, () => {
      const before = [...set];
      return () => {
        set.clear();
        for (const item of before) set.add(item);
      };
    });
  }

  /** Must be called before a map is changed; undoing restores its order, too. */
  keepMap<K, V>(map: Map<K, V>): void {
    this.#keep(map, () => {
      const before = [...map];
      return () => {
        map.clear();
        for (const [key, value] of before) map.set(key, value);
      };
    });
  }

  /** Copies a collection once per attempt: the first copy has the content from before the attempt. */
  #keep(collection: object, copy: () => () => void): void {
    this.#changes++;
    const mark = this.#marks.at(-1);
    if (mark === undefined) return;
    const kept = this.#kept.get(collection);
    if (kept && kept.at >= mark && this.#undos[kept.at] === kept.undo) return;
    const undo = copy();
    this.#kept.set(collection, { at: this.#undos.push(undo) - 1, undo });
  }
}
