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
  isBounded(place: string): boolean {
    return this.#dynamic !== false && this.bounds.has(place);
  }

  /** Whether the size at this location is symbolic from now on. Records the size. */
  isSymbolicSize(place: string, size: number): boolean {
    if (this.isBounded(place)) return true;
    const differs = this.#differs(place, size);
    return size > 1 && (differs || this.#dynamic === true);
  }

  /**
   * Whether a number that is not a size is symbolic from now on. `changes`: it is known to differ at the next call. A
   * call may change only some numbers of a batch, a board or sparse rewards: once two elements of arrays at one
   * location have changed, all elements are symbolic.
   */
  isSymbolic(place: string, value: number, changes = false): boolean {
    if (this.isBounded(place) || this.#differs(place, value)) return true;
    if (this.#areElementsChanging(place) && !Number.isNaN(value)) return true;
    if (changes && this.#dynamic !== false && !Number.isNaN(value)) return true;
    return this.#dynamic === true && value !== 0 && value !== 1 && !Number.isNaN(value);
  }

  /** Records that a guard on the value at the location failed. */
  noteChange(place: string): void {
    if (this.#dynamic !== false) this.#changed.add(siblings(place));
  }

  /** Records that a guarded comparison of the number at the location changed its result. */
  noteChangingComparison(place: string): void {
    if (this.#dynamic !== false) this.#compared.add(siblings(place));
  }

  /**
   * Whether the boolean at the location, or in another element of its array, is known to change: a call changes only
   * some booleans of a batch.
   */
  isChangingBoolean(place: string): boolean {
    return this.#changed.size > 0 && this.#changed.has(siblings(place));
  }

  /** Whether a comparison of the number at the location has changed its result. */
  hasChangingComparisons(place: string): boolean {
    return this.#compared.size > 0 && this.#compared.has(siblings(place));
  }

  /** Whether an earlier trace has found another object at the location. Records the first one. */
  isOtherObject(place: string, object: object): boolean {
    const first = this.#objects.get(place);
    if (!first) this.#objects.set(place, new WeakRef(object));
    return first !== undefined && first.deref() !== object;
  }

  /** Whether the first number at the location was different. */
  #differs(place: string, value: number): boolean {
    if (this.#dynamic === false || Number.isNaN(value)) return false;
    const first = this.#first.get(place);
    if (first === undefined) this.#first.set(place, value);
    const differs = first !== undefined && first !== value;
    if (differs) this.#noteElement(place);
    return differs;
  }

  #noteElement(place: string): void {
    const key = siblings(place);
    if (key === place) return;
    getOrInsert(this.#changedElements, key, () => new Set()).add(place);
  }

  #areElementsChanging(place: string): boolean {
    if (this.#changedElements.size === 0) return false;
    return (this.#changedElements.get(siblings(place))?.size ?? 0) > 1;
  }
}

/** The key of a source (see `source-key.ts`) without the indices of elements. */
function siblings(place: string): string {
  return place.replace(/\/\d+:\d+(?=\/|$)/g, '/*');
}
