import { type Layout, type LiveRange, layOut, mostAlive } from '../../../7-plan/arena/layout.ts';
import { Occupancy } from '../../../7-plan/arena/occupancy.ts';

/** So many orders are tried, and of so many ranges: some seconds, of a module that is made once. */
const mostOrders = 6000;
const mostRanges = 2000;
/** Orders from one beginning. */
const mostMoves = 2000;

/**
 * Offsets that end at the most live bytes at once, if they are found: where the usual orders leave gaps, ranges that end
 * above it are placed earlier, by chance, as long as that makes the layout no longer.
 */
export function exactLayout(ranges: readonly LiveRange[]): Layout {
  const most = mostAlive(ranges);
  let best = layOut(ranges);
  if (best.bytes === most || ranges.length > mostRanges) return best;
  const random = randomNumbers();
  const bySize = ranges
    .map((_, i) => i)
    .sort((a, b) => ranges[b]!.bytes - ranges[a]!.bytes || a - b);
  for (let tried = 0; tried < mostOrders && best.bytes > most; ) {
    let order = bySize;
    let layout = inOrder(ranges, order);
    for (let move = 0; move < mostMoves && layout.bytes > most; move++, tried++) {
      const high = order.filter((i) => layout.offsets[i]! + ranges[i]!.bytes > most);
      const pick = high[Math.floor(random() * high.length)]!;
      const next = order.filter((i) => i !== pick);
      next.splice(Math.floor(random() * order.indexOf(pick)), 0, pick);
      const other = inOrder(ranges, next);
      if (other.bytes <= layout.bytes) [order, layout] = [next, other];
    }
    if (layout.bytes < best.bytes) best = layout;
  }
  return best;
}

function inOrder(ranges: readonly LiveRange[], order: readonly number[]): Layout {
  const occupancy = new Occupancy(Math.max(0, ...ranges.map(({ to }) => to)) + 1);
  const offsets = ranges.map(() => 0);
  let bytes = 0;
  for (const i of order) {
    offsets[i] = occupancy.place(ranges[i]!);
    bytes = Math.max(bytes, offsets[i]! + ranges[i]!.bytes);
  }
  return { offsets, bytes };
}

/** The same numbers each time: a module follows from its program. */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}
