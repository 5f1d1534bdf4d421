import type { Layout, LiveRange } from './layout.ts';

/** The free place that a range takes: the lowest, or the smallest that is large enough. */
export type Fit = 'lowest' | 'tightest';

/**
 * A layout made along the steps, as an allocator would that sees one range after the other; `backwards`
 * from the last step to the first. Takes time in proportion to the ranges and the free places between
 * them, whatever is live.
 */
export function inTime(ranges: readonly LiveRange[], fit: Fit, backwards: boolean): Layout {
  const comes = ({ from, to }: LiveRange) => (backwards ? -to : from);
  const goes = ({ from, to }: LiveRange) => (backwards ? -from : to);
  const numbers = ranges.flatMap(({ bytes }, i) => (bytes > 0 ? [i] : []));
  const coming = numbers.toSorted(
    (a, b) => comes(ranges[a]!) - comes(ranges[b]!) || ranges[b]!.bytes - ranges[a]!.bytes || a - b,
  );
  const going = numbers.toSorted((a, b) => goes(ranges[a]!) - goes(ranges[b]!) || a - b);
  const places = new FreePlaces();
  const offsets = new Array<number>(ranges.length).fill(0);
  let next = 0;
  for (const i of coming) {
    const range = ranges[i]!;
    while (goes(ranges[going[next]!]!) < comes(range)) {
      const gone = going[next++]!;
      places.free(offsets[gone]!, ranges[gone]!.bytes);
    }
    offsets[i] = places.take(range.bytes, fit);
  }
  return { offsets, bytes: places.end };
}

/** Free places below the end of what was ever taken, by offset; neighbours are joined. */
class FreePlaces {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  end = 0;

  take(bytes: number, fit: Fit): number {
    const at = this.#find(bytes, fit);
    if (at < 0) return this.#extend(bytes);
    const start = this.#starts[at]!;
    if (this.#ends[at]! - start === bytes) this.#remove(at);
    else this.#starts[at] = start + bytes;
    return start;
  }

  free(offset: number, bytes: number): void {
    const end = offset + bytes;
    let at = this.#after(offset);
    if (at > 0 && this.#ends[at - 1] === offset) {
      this.#ends[--at] = end;
    } else {
      this.#starts.splice(at, 0, offset);
      this.#ends.splice(at, 0, end);
    }
    if (this.#starts[at + 1] !== end) return;
    this.#ends[at] = this.#ends[at + 1]!;
    this.#remove(at + 1);
  }

  #find(bytes: number, fit: Fit): number {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#starts.length; i++) {
      const size = this.#ends[i]! - this.#starts[i]!;
      if (size < bytes || size >= least) continue;
      if (fit === 'lowest') return i;
      best = i;
      least = size;
    }
    return best;
  }

  /** A free place at the end becomes part of the new one. */
  #extend(bytes: number): number {
    const last = this.#ends.length - 1;
    const isAtEnd = last >= 0 && this.#ends[last] === this.end;
    const start = isAtEnd ? this.#starts[last]! : this.end;
    if (isAtEnd) this.#remove(last);
    this.end = start + bytes;
    return start;
  }

  /** Number of the first free place after an offset. */
  #after(offset: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #remove(at: number): void {
    this.#starts.splice(at, 1);
    this.#ends.splice(at, 1);
  }
}
