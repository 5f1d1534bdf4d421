import type { LiveRange } from './layout.ts';

interface Placed extends LiveRange {
  readonly offset: number;
  /** The last look that found it. */
  seen: number;
}

/**
 * The occupied places at each step: a segment tree over the steps. A range lies in the few nodes that together make up
 * its life; the ranges that are live at the same time are found in the nodes along the search. A range lies in the few
 * nodes that together make up its life; who lives at the same time is found in the nodes on the way.
 */
export class Occupancy {
  readonly #leaves: number;
  /** The ranges that fill the steps of each node. */
  readonly #filling: (Placed[] | undefined)[];
  /** The ranges that lie in nodes below each node. */
  readonly #below: (Placed[] | undefined)[];
  #look = 0;

  constructor(steps: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, steps)));
    this.#filling = new Array(2 * this.#leaves);
    this.#below = new Array(2 * this.#leaves);
  }

  /** Puts the range to the lowest offset that is free for all its life. */
  place(range: LiveRange): number {
    if (range.bytes === 0) return 0;
    const offset = lowestGap(this.#aliveWith(range), range.bytes);
    this.#insert(1, 0, this.#leaves - 1, { ...range, offset, seen: 0 });
    return offset;
  }

  #insert(node: number, first: number, last: number, placed: Placed): void {
    if (placed.from <= first && last <= placed.to) {
      const filling = this.#filling[node] ?? [];
      filling.push(placed);
      this.#filling[node] = filling;
      return;
    }
    const below = this.#below[node] ?? [];
    below.push(placed);
    this.#below[node] = below;
    const middle = (first + last) >> 1;
    if (placed.from <= middle) this.#insert(2 * node, first, middle, placed);
    if (placed.to > middle) this.#insert(2 * node + 1, middle + 1, last, placed);
  }

  /** Each once. */
  #aliveWith({ from, to }: LiveRange): Placed[] {
    const look = ++this.#look;
    const found: Placed[] = [];
    const add = (list: readonly Placed[] | undefined) => {
      for (const placed of list ?? []) {
        if (placed.seen === look) continue;
        placed.seen = look;
        found.push(placed);
      }
    };
    const visit = (node: number, first: number, last: number): void => {
      add(this.#filling[node]);
      if (from <= first && last <= to) {
        add(this.#below[node]);
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

/** Starts and ends are sorted by themselves, as numbers: of many ranges that is most of the work. */
function lowestGap(taken: readonly Placed[], bytes: number): number {
  const starts = new Float64Array(taken.length);
  const ends = new Float64Array(taken.length);
  for (let i = 0; i < taken.length; i++) {
    starts[i] = taken[i]!.offset;
    ends[i] = starts[i]! + taken[i]!.bytes;
  }
  starts.sort();
  ends.sort();
  let closed = 0;
  let free = 0;
  for (let opened = 0; opened < starts.length; opened++) {
    const start = starts[opened]!;
    while (closed < opened && ends[closed]! <= start) closed++;
    // Nothing reaches over this place.
    if (closed === opened && start - free >= bytes) return free;
    free = ends[opened]!;
  }
  return free;
}
