import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { Guard } from '../../guards/guard.ts';
import type { Source } from '../../guards/source.ts';
import { OwnMap, OwnSet } from '../../vm/language/primordials.ts';

/** Represents all of an array's elements, or all of a Map's entries. */
export const content = Symbol('content');

type Key = string | symbol;

/** The pre-existing objects that code has read, with the keys that were read, or with their content as a whole. */
export type ObjectsRead = ReadonlyMap<object, ReadonlySet<Key>>;

/**
 * The pre-existing objects that the trace has accessed, with the paths that led to them. If an object is changed, its
 * aliasing matters: if that differed in a later call, a write through one path might or might not be visible through
 * another.
 */
export class ObjectsMet {
  /** For each key, the objects on which it was read or written, with every path to them. */
  readonly #touched = new Map<Key, OwnMap<object, Set<Source>>>();
  /** Arrays from which elements counted from the end were read, with every path to them. */
  readonly #ends = new OwnMap<object, Set<Source>>();
  readonly #changed = new Map<Key, OwnSet<object>>();
  #reads: OwnMap<object, Set<Key>> | null = null;

  /** Runs `body` and collects in `found` what it reads, or writes. */
  collect<T>(found: OwnMap<object, Set<Key>>, body: () => T): T {
    const outer = this.#reads;
    this.#reads = found;
    try {
      return body();
    } finally {
      this.#reads = outer;
    }
  }

  touch(object: object, source: Source, key: string | symbol): void {
    this.#add(key, object, source);
    if (Array.isArray(object)) this.#add(content, object, source);
  }

  /** Records that the content of a Map or Set was read. */
  touchContent(object: object, source: Source): void {
    this.#add(content, object, source);
  }

  /** Returns the paths to an object whose content was read or changed. */
  pathsToContent(object: object): readonly Source[] {
    return [...(this.#touched.get(content)?.get(object) ?? [])];
  }

  /** Records that an element was read whose index depends on the length. */
  touchEnd(array: object, source: Source): void {
    this.#ends.set(array, (this.#ends.get(array) ?? new Set()).add(source));
    this.#collect(content, array);
  }

  write(object: object, key: string | symbol): void {
    this.#change(key, object);
  }

  /** Records that elements or entries were added or removed. */
  change(object: object, source: Source): void {
    this.#add(content, object, source);
    this.#change(content, object);
  }

  guards(): Guard[] {
    return [...this.#changed].flatMap(([key, changed]) => this.#guardsAt(key, changed));
  }

  #guardsAt(key: Key, changed: ReadonlySet<object>): Guard[] {
    const guards: Guard[] = [];
    const touched = this.#touchedAt(key);
    const firstPath = (object: object) => [...touched.get(object)!][0]!;
    for (const object of changed) {
      const [source, ...paths] = [...touched.get(object)!];
      for (const other of paths) guards.push({ kind: 'same', source: source!, other, same: true });
    }
    if (touched.size > 1) {
      const others = [...touched.keys()].filter((object) => !changed.has(object));
      const sources = [...changed].map(firstPath);
      guards.push({ kind: 'distinct', sources, others: others.map(firstPath) });
    }
    return guards;
  }

  #touchedAt(key: Key): ReadonlyMap<object, ReadonlySet<Source>> {
    const touched = this.#touched.get(key)!;
    return /^\d+$/.test(String(key)) ? new OwnMap([...this.#ends, ...touched]) : touched;
  }

  #collect(key: Key, object: object): void {
    if (this.#reads) getOrInsert(this.#reads, object, () => new Set()).add(key);
  }

  #add(key: Key, object: object, source: Source): void {
    this.#collect(key, object);
    const objects = getOrInsert(this.#touched, key, () => new OwnMap());
    getOrInsert(objects, object, () => new Set()).add(source);
  }

  #change(key: Key, object: object): void {
    getOrInsert(this.#changed, key, () => new OwnSet()).add(object);
  }
}
