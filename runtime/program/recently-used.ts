interface Kept<V> {
  readonly value: V;
  readonly weight: number;
}

/** A least-recently-used cache with weighted entries. */
export class RecentlyUsed<K, V> {
  readonly #entries = new Map<K, Kept<V>>();
  readonly #most: number;
  readonly #least: number;
  readonly #weightOf: (value: V) => number;
  #weight = 0;

  /** `most` limits the total weight, by default 1 per entry. The `least` most recent entries are never evicted. */
  constructor(most: number, weightOf: (value: V) => number = () => 1, least = 1) {
    this.#most = most;
    this.#weightOf = weightOf;
    this.#least = least;
  }

  get(key: K, make: () => V): V {
    const found = this.#entries.get(key);
    // A Map keeps insertion order, so the most recently used entry is moved to the end.
    if (found !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, found);
      return found.value;
    }
    const value = make();
    const weight = this.#weightOf(value);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const [oldest, { weight: own }] of this.#entries) {
      if (this.#weight <= this.#most || this.#entries.size <= this.#least) break;
      this.#entries.delete(oldest);
      this.#weight -= own;
    }
    return value;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** The total weight of all entries. */
  get weight(): number {
    return this.#weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  /** Returns the values, least recently used first. */
  values(): V[] {
    return [...this.#entries.values()].map(({ value }) => value);
  }
}
