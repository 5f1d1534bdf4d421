import type { LiveRange } from './layout.ts';
import { OccupiedSpans } from './occupied-spans.ts';

/**
 * Occupied address ranges at each step: a segment tree over the steps. A block is stored in the few nodes that together
 * cover its live range, and lookups read the nodes along the search path. Nodes store address ranges without their
 * blocks, so thousands of adjacent blocks collapse into a few ranges.
 */
export class Occupancy {
  readonly #leaves: number;
  /** Address ranges of blocks that are live in all steps of each node. */
  readonly #filling: (OccupiedSpans | undefined)[];
  /** Address ranges of blocks stored in descendants of each node. */
  readonly #below: (OccupiedSpans | undefined)[];

  constructor(steps: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, steps)));
    this.#filling = new Array(2 * this.#leaves);
    this.#below = new Array(2 * this.#leaves);
  }

  /** Places the block at the lowest offset that is free throughout its live range. */
  place(range: LiveRange): number {
    if (range.bytes === 0) return 0;
    const offset = lowestGap(this.#during(range), range.bytes);
    this.#insert(1, 0, this.#leaves - 1, range, offset);
    return offset;
  }

  #insert(node: number, first: number, last: number, range: LiveRange, offset: number): void {
    const { bytes, from, to } = range;
    const isFilled = from <= first && last <= to;
    const places = isFilled ? this.#filling : this.#below;
    places[node] ??= new OccupiedSpans();
    places[node].add(offset, offset + bytes);
    if (isFilled) return;
    const middle = (first + last) >> 1;
    if (from <= middle) this.#insert(2 * node, first, middle, range, offset);
    if (to > middle) this.#insert(2 * node + 1, middle + 1, last, range, offset);
  }

  #during({ from, to }: LiveRange): OccupiedSpans[] {
    const found: OccupiedSpans[] = [];
    const visit = (node: number, first: number, last: number): void => {
      const [filling, below] = [this.#filling[node], this.#below[node]];
      if (filling) found.push(filling);
      if (!below) return;
      if (from <= first && last <= to) {
        found.push(below);
        return;
      }
      const middle = (first + last) >> 1;
      if (from <= middle) visit(2 * node, first, middle);
      if (to > middle) visit(2 * node + 1, middle + 1, last);
    };
    visit(1, 0, this.#leaves - 1);
    return found;
  }
}

/** Returns the lowest offset at which `bytes` are free in all of them. */
function lowestGap(all: readonly OccupiedSpans[], bytes: number): number {
  let free = 0;
  for (let agreed = 0, i = 0; agreed < all.length; i = (i + 1) % all.length) {
    const next = all[i]!.freeFrom(free, bytes);
    agreed = next === free ? agreed + 1 : 1;
    free = next;
  }
  return free;
}
