interface Kept<V> {
  readonly value: V;
  readonly weight: number;
}

/** A table that keeps the entries which were asked for lately, as many as their weights allow. */
export class RecentlyUsed<K, V> {
  readonly #entries = new Map<K, Kept<V>>();
  readonly #most: number;
  readonly #least: number;
  readonly #weightOf: (value: V) => number;
  #weight = 0;

  /** `most`: the sum of all weights, 1 for each entry by default. The last `least` entries stay whatever they weigh. */
  constructor(most: number, weightOf: (value: V) => number = () => 1, least = 1) {
    this.#most = most;
    this.#weightOf = weightOf;
    this.#least = least;
  }

  get(key: K, make: () => V): V {
    const found = this.#entries.get(key);
    // A Map keeps the order of insertion: the last one asked for is the last one.
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

  /** The weights of all entries. */
  get weight(): number {
    return this.#weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  /** The one used longest ago first. */
  values(): V[] {
    return [...this.#entries.values()].map(({ value }) => value);
  }
}
