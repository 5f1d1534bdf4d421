import { Occupancy } from './occupancy.ts';
import { OccupiedSpans } from './occupied-spans.ts';

/** A block of memory and its live range in steps, both ends included. */
export interface LiveRange {
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

export interface Layout {
  /** The offset of each block. */
  readonly offsets: readonly number[];
  /** The end of the highest block. */
  readonly bytes: number;
}

/** The most moves to the front to try; more don't pay off. */
const moves = 24;
/** For more blocks than this, a saving below this share of the bytes isn't worth another order. */
const manyRanges = 2000;
const littleShare = 0.01;
/** Up to this many blocks, all orders that could matter are tried, within a limit on placements. */
const exactRanges = 12;
const exactPlacements = 20_000;

const nothing: Layout = { offsets: [], bytes: Number.POSITIVE_INFINITY };

/**
 * Returns offsets with a low end, such that no two blocks that are live together overlap. Blocks are placed one by one,
 * each at the lowest offset that is free throughout its live range. Tries the well-known orders (by size, by size times
 * lifetime, by start), then moves the highest block to the front while that helps. A few blocks are searched
 * exhaustively; for many, a layout close to the optimum is good enough. No layout ends below the peak of live bytes.
 */
export function layOut(ranges: readonly LiveRange[]): Layout {
  const most = mostLive(ranges);
  const bound = ranges.length > manyRanges ? most * (1 + littleShare) : most;
  let best = nothing;
  let bestOrder: readonly number[] = [];
  const attempt = (order: readonly number[]): boolean => {
    const layout = inOrder(ranges, order, best.bytes);
    if (!layout) return false;
    best = layout;
    bestOrder = order;
    return true;
  };
  for (const order of startingOrders(ranges)) {
    attempt(order);
    if (best.bytes <= bound) return best;
  }
  for (let move = 0; move < moves && best.bytes > bound; move++) {
    const highest = bestOrder.filter((i) => best.offsets[i]! + ranges[i]!.bytes === best.bytes);
    const rest = bestOrder.filter((i) => !highest.includes(i));
    if (!attempt([...highest, ...rest])) break;
  }
  if (best.bytes > bound && ranges.length <= exactRanges) return exactLayout(ranges, best, bound);
  return best;
}

/** Returns the largest number of bytes live at one step. */
export function mostLive(ranges: readonly LiveRange[]): number {
  const changes = ranges.flatMap(({ bytes, from, to }) => [
    { at: from, bytes },
    { at: to + 1, bytes: -bytes },
  ]);
  changes.sort((a, b) => a.at - b.at || a.bytes - b.bytes);
  let live = 0;
  let most = 0;
  for (const { bytes } of changes) {
    live += bytes;
    most = Math.max(most, live);
  }
  return most;
}

function* startingOrders(ranges: readonly LiveRange[]): Generator<number[]> {
  const numbers = ranges.map((_, i) => i);
  const life = ({ from, to }: LiveRange) => to - from + 1;
  const by = (key: (range: LiveRange) => number) =>
    numbers.toSorted((a, b) => key(ranges[b]!) - key(ranges[a]!) || a - b);
  yield by(({ bytes }) => bytes);
  yield by((range) => range.bytes * life(range));
  yield by(life);
  yield by(({ from }) => -from);
}

/** Returns the layout for one order; null as soon as it ends at or above `ceiling`. */
function inOrder(
  ranges: readonly LiveRange[],
  order: readonly number[],
  ceiling: number,
): Layout | null {
  const occupancy = new Occupancy(lastStep(ranges) + 1);
  const offsets = new Array<number>(ranges.length).fill(0);
  let end = 0;
  for (const i of order) {
    const range = ranges[i]!;
    offsets[i] = occupancy.place(range);
    end = Math.max(end, offsets[i]! + range.bytes);
    if (end >= ceiling) return null;
  }
  return { offsets, bytes: end };
}

function lastStep(ranges: readonly LiveRange[]): number {
  let last = 0;
  for (const { to } of ranges) last = Math.max(last, to);
  return last;
}

/** Tries every order that can still beat the best known layout: one of these orders is optimal. */
function exactLayout(ranges: readonly LiveRange[], known: Layout, bound: number): Layout {
  let best = known;
  let placements = 0;
  const offsets = new Array<number>(ranges.length).fill(-1);
  const extend = (placed: number, end: number): void => {
    if (placed === ranges.length) {
      best = { offsets: [...offsets], bytes: end };
      return;
    }
    for (let i = 0; i < ranges.length; i++) {
      if (offsets[i]! >= 0 || best.bytes <= bound || ++placements > exactPlacements) continue;
      const offset = lowestFree(ranges, offsets, i);
      const nextEnd = Math.max(end, offset + ranges[i]!.bytes);
      if (nextEnd >= best.bytes) continue;
      offsets[i] = offset;
      extend(placed + 1, nextEnd);
      offsets[i] = -1;
    }
  };
  extend(0, 0);
  return best;
}

function lowestFree(ranges: readonly LiveRange[], offsets: readonly number[], i: number): number {
  const { bytes, from, to } = ranges[i]!;
  const taken = new OccupiedSpans();
  ranges.forEach((range, at) => {
    const offset = offsets[at]!;
    if (offset >= 0 && range.from <= to && range.to >= from) {
      taken.add(offset, offset + range.bytes);
    }
  });
  return taken.freeFrom(0, bytes);
}
