/** Occupied address ranges by offset; adjacent ranges are merged. */
export class OccupiedSpans {
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  add(start: number, end: number): void {
    const first = firstFrom(this.ends, start);
    let last = first;
    let [low, high] = [start, end];
    for (; last < this.starts.length && this.starts[last]! <= end; last++) {
      low = Math.min(low, this.starts[last]!);
      high = Math.max(high, this.ends[last]!);
    }
    if (last === first + 1) {
      this.starts[first] = low;
      this.ends[first] = high;
      return;
    }
    this.starts.splice(first, last - first, low);
    this.ends.splice(first, last - first, high);
  }

  /** Returns the lowest offset from `offset` on at which `bytes` are free. */
  freeFrom(offset: number, bytes: number): number {
    let free = offset;
    for (let i = firstFrom(this.ends, offset + 1); i < this.starts.length; i++) {
      if (this.starts[i]! >= free + bytes) return free;
      free = this.ends[i]!;
    }
    return free;
  }
}

/** Returns the index of the first number that is at least `least`. */
function firstFrom(numbers: readonly number[], least: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
