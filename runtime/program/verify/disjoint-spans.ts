/** Disjoint byte spans in use, sorted: an overlap is found by binary search. */
export class DisjointSpans {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Adds a span; returns false, adding nothing, if it overlaps another one. */
  add(from: number, to: number): boolean {
    if (from === to) return true;
    const at = this.#firstEndingAfter(from);
    const next = this.#starts[at];
    if (next !== undefined && next < to) return false;
    this.#starts.splice(at, 0, from);
    this.#ends.splice(at, 0, to);
    return true;
  }

  delete(from: number, to: number): void {
    if (from === to) return;
    const at = this.#firstEndingAfter(from);
    this.#starts.splice(at, 1);
    this.#ends.splice(at, 1);
  }

  #firstEndingAfter(byte: number): number {
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ends[middle]! <= byte) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
