/** Lists of numbers for the indices 0 … n − 1, stored in one array, since most contain one or two elements. */
export class Lists {
  /** The start of each list in `items`; it ends where the next one starts. */
  readonly starts: Int32Array;
  readonly items: Int32Array;

  constructor(starts: Int32Array, items: Int32Array) {
    this.starts = starts;
    this.items = items;
  }

  static from(lists: readonly (readonly number[])[]): Lists {
    const builder = new ListsBuilder();
    for (const list of lists) {
      for (const item of list) builder.add(item);
      builder.endList();
    }
    return builder.build();
  }

  /** A view of one list. */
  of(index: number): Int32Array {
    return this.items.subarray(this.starts[index], this.starts[index + 1]);
  }

  lengths(): Int32Array {
    const { starts } = this;
    const lengths = new Int32Array(starts.length - 1);
    for (let i = 0; i < lengths.length; i++) lengths[i] = starts[i + 1]! - starts[i]!;
    return lengths;
  }

  /** For each of 0 … `count` − 1, returns the lists that contain it, in order. */
  inverse(count: number): Lists {
    const { starts, items } = this;
    const begins = new Int32Array(count + 1);
    for (const item of items) begins[item + 1]!++;
    for (let i = 0; i < count; i++) begins[i + 1]! += begins[i]!;
    const next = begins.slice();
    const indices = new Int32Array(items.length);
    for (let list = 0; list + 1 < starts.length; list++) {
      for (let at = starts[list]!; at < starts[list + 1]!; at++) {
        indices[next[items[at]!]!++] = list;
      }
    }
    return new Lists(begins, indices);
  }
}

export class ListsBuilder {
  readonly #starts = [0];
  readonly #items: number[] = [];

  add(item: number): void {
    this.#items.push(item);
  }

  /** Adds the item unless the list being built contains it; such lists are short. */
  addOnce(item: number): void {
    const items = this.#items;
    for (let at = this.#starts.at(-1)!; at < items.length; at++) if (items[at] === item) return;
    items.push(item);
  }

  endList(): void {
    this.#starts.push(this.#items.length);
  }

  build(): Lists {
    return new Lists(Int32Array.from(this.#starts), Int32Array.from(this.#items));
  }
}
