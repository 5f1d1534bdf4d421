import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import type { ShapeBounds } from './shape-bounds.ts';

/** Whether pre-existing sizes and numbers may differ without another trace. */
export type Dynamic = boolean | 'auto';

/**
 * The numbers, and the keys of Maps and Sets, that traces at one point have found at each location. The first number is
 * treated as a constant; a different second one makes the location symbolic. Sizes 0 and 1 are always constants: they
 * broadcast, and much is simpler with them.
 */
export class NumberHistory {
  readonly #first = new Map<string, number>();
  /** The objects found first, by location. */
  readonly #objects = new Map<string, WeakRef<object>>();
  /** Locations, without indices, whose guarded values have changed. */
  readonly #changed = new Set<string>();
  /** Locations, without indices, of numbers whose comparison has had different results. */
  readonly #compared = new Set<string>();
  /** The elements of arrays that contained a second number, by their location without indices. */
  readonly #changedElements = new Map<string, Set<string>>();
  /** The Maps and WeakMaps in which an object's value has changed, by location. */
  readonly #changedMaps = new Set<string>();
  readonly #dynamic: Dynamic;
  /** Locations that may contain any number within bounds from the start. */
  readonly bounds: ShapeBounds;

  constructor(dynamic: Dynamic, bounds: ShapeBounds = new Map()) {
    this.#dynamic = dynamic;
    this.bounds = bounds;
  }

  /**
   * Whether bounds were given for the number at the location: it is then symbolic even if it is 0 or 1, and needs
   * no trace of its own.
   */
  isBounded(key: string): boolean {
    return this.#dynamic !== false && this.bounds.has(key);
  }

  /** Whether the size at this location is symbolic from now on. Records the size. */
  isSymbolicSize(key: string, size: number): boolean {
    if (this.isBounded(key)) return true;
    const differs = this.#differs(key, size);
    return size > 1 && (differs || this.#dynamic === true);
  }

  /**
   * Whether a number that is not a size is symbolic from now on. `changes`: it is known to differ at the next call. A
   * call may change only some numbers of a batch, a board or sparse rewards: once two elements of arrays at one
   * location have changed, all elements are symbolic. The same holds for what a Map keeps for each object, such as
   * visits of nodes, once one of them has changed or was missing.
   */
  isSymbolic(key: string, value: number, changes = false): boolean {
    if (this.isBounded(key) || this.#differs(key, value)) return true;
    if (this.#areElementsChanging(key) && !Number.isNaN(value)) return true;
    if (this.#isInChangedMap(key) && !Number.isNaN(value)) return true;
    if (changes && this.#dynamic !== false && !Number.isNaN(value)) return true;
    return this.#dynamic === true && value !== 0 && value !== 1 && !Number.isNaN(value);
  }

  /** Records that a guard on the value at the location failed. */
  noteChange(key: string): void {
    if (this.#dynamic === false) return;
    this.#changed.add(siblings(key));
    const map = mapOf(key);
    if (map !== undefined) this.#changedMaps.add(map);
  }

  /** Records that a guarded comparison of the number at the location changed its result. */
  noteChangingComparison(key: string): void {
    if (this.#dynamic !== false) this.#compared.add(siblings(key));
  }

  /**
   * Whether the boolean at the location, or in another element of its array, is known to change: a call changes only
   * some booleans of a batch.
   */
  isChangingBoolean(key: string): boolean {
    return this.#changed.size > 0 && this.#changed.has(siblings(key));
  }

  /** Whether a comparison of the number at the location has changed its result. */
  hasChangingComparisons(key: string): boolean {
    return this.#compared.size > 0 && this.#compared.has(siblings(key));
  }

  /** Whether an earlier trace has found another object at the location. Records the first one. */
  isOtherObject(key: string, object: object): boolean {
    const first = this.#objects.get(key);
    if (!first) this.#objects.set(key, new WeakRef(object));
    return first !== undefined && first.deref() !== object;
  }

  /** Whether the first number at the location was different. */
  #differs(key: string, value: number): boolean {
    if (this.#dynamic === false || Number.isNaN(value)) return false;
    const first = this.#first.get(key);
    if (first === undefined) this.#first.set(key, value);
    const differs = first !== undefined && first !== value;
    if (differs) this.#noteElement(key);
    return differs;
  }

  #isInChangedMap(key: string): boolean {
    if (this.#changedMaps.size === 0) return false;
    const map = mapOf(key);
    return map !== undefined && this.#changedMaps.has(map);
  }

  #noteElement(location: string): void {
    const key = siblings(location);
    if (key === location) return;
    getOrInsert(this.#changedElements, key, () => new Set()).add(location);
  }

  #areElementsChanging(key: string): boolean {
    if (this.#changedElements.size === 0) return false;
    return (this.#changedElements.get(siblings(key))?.size ?? 0) > 1;
  }
}

/** Returns the location of the Map if the key is what it has for an object. */
function mapOf(key: string): string | undefined {
  const found = /^(.*)\/m#\d+$/.exec(key) ?? /\/get\(([^()]*)\)$/.exec(key);
  return found?.[1];
}

/** The key of a source (see `source-key.ts`) without the indices of elements. */
function siblings(key: string): string {
  return key.replace(/\/\d+:\d+(?=\/|$)/g, '/*');
}
