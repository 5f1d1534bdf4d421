/** A table that keeps the entries which were asked for lately. */
export class RecentlyUsed<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: K, make: () => V): V {
    const found = this.#entries.get(key);
    // A Map keeps the order of insertion: the last one asked for is the last one.
    if (found !== undefined) this.#entries.delete(key);
    const value = found ?? make();
    this.#entries.set(key, value);
    if (this.#entries.size > this.#most) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest as K);
    }
    return value;
  }
}
