import type { Source } from '../guards/source.ts';
import type { Variable } from './variable.ts';

/** One place that the trace has written to. */
interface Write {
  readonly object: Source;
  readonly key: string;
  value: Variable;
}

/**
 * What the traced code changes of objects that existed before: nothing happens until the run, where the
 * last value of each place is written after the graph. Objects are told apart by identity, so a write
 * through one path is seen through another.
 */
export class EffectLog {
  readonly #writes = new Map<object, Map<string, Write>>();
  /** Per key, the objects of which it was read or written. */
  readonly #touched = new Map<string, Map<object, Source>>();
  /** Whether any variable around a function was assigned: module namespaces show them as properties. */
  hasVariables = false;
  /** Tensors from outside that are given back at the end. */
  readonly disposed = new Set<Source>();

  /** The value that the trace itself has written there; call it for every read of the property. */
  written(object: object, source: Source, key: string): Variable | undefined {
    this.#touch(object, source, key);
    return this.#writes.get(object)?.get(key)?.value;
  }

  /** True when any property was written: what lists the object's keys can't be read from outside. */
  touches(object: object): boolean {
    return this.#writes.has(object);
  }

  write(object: object, source: Source, key: string, value: Variable): void {
    this.#touch(object, source, key);
    let places = this.#writes.get(object);
    if (!places) {
      places = new Map();
      this.#writes.set(object, places);
    }
    const earlier = places.get(key);
    if (earlier) earlier.value = value;
    else places.set(key, { object: source, key, value });
  }

  *writes(): Generator<Write> {
    for (const places of this.#writes.values()) yield* places.values();
  }

  /**
   * Objects that must be told apart: a key was written on one of them and touched on the others. Were two
   * of them the same in a later call, a write through one would show through the other.
   */
  *distinct(): Generator<readonly Source[]> {
    const keys = new Set([...this.writes()].map(({ key }) => key));
    for (const key of keys) {
      const sources = [...this.#touched.get(key)!.values()];
      if (sources.length > 1) yield sources;
    }
  }

  #touch(object: object, source: Source, key: string): void {
    let objects = this.#touched.get(key);
    if (!objects) {
      objects = new Map();
      this.#touched.set(key, objects);
    }
    if (!objects.has(object)) objects.set(object, source);
  }
}
