import { type Layout, type LiveRange, layOut, mostLive } from '../../../7-plan/arena/layout.ts';

/** The most orders tried from one start, and the most without an improvement. */
const mostOrders = 120;
const mostInVain = 40;
/** For more ranges than this, the usual orders are good enough. */
const mostRanges = 2000;
/** How far ranges that don't fit move to the front, as a share of all ranges. */
const pushes = [0.02, 0.2, 1] as const;

/**
 * Returns offsets that end at the peak of live bytes, if such offsets are found. If the usual orders leave gaps, ranges
 * that ended too high are placed earlier in the next attempt, until all fit.
 */
export function exactLayout(ranges: readonly LiveRange[]): Layout {
  const most = mostLive(ranges);
  let best = layOut(ranges);
  if (best.bytes === most || ranges.length > mostRanges) return best;
  const together = ranges.map((a, i) =>
    ranges.flatMap((b, k) => (k !== i && a.from <= b.to && b.from <= a.to ? [k] : [])),
  );
  const random = randomNumbers();
  for (const push of pushes) {
    for (const beginning of beginningsOf(ranges)) {
      const priorities = ranges.map(() => 0);
      beginning.forEach((i, k) => {
        priorities[i] = ranges.length - k;
      });
      let order = beginning;
      let lowest = Number.POSITIVE_INFINITY;
      for (
        let tried = 0, inVain = 0;
        tried < mostOrders && inVain < mostInVain;
        tried++, inVain++
      ) {
        const layout = inOrder(ranges, together, order);
        if (layout.bytes < lowest) [lowest, inVain] = [layout.bytes, 0];
        if (layout.bytes < best.bytes) best = layout;
        if (best.bytes === most) return best;
        ranges.forEach(({ bytes }, i) => {
          if (layout.offsets[i]! + bytes <= most) return;
          priorities[i]! += 1 + random() * ranges.length * push;
        });
        order = [...order].sort((a, b) => priorities[b]! - priorities[a]!);
      }
    }
  }
  return best;
}

/** Starting orders: ranges live at the peak first; largest first; largest and longest-lived first. */
function beginningsOf(ranges: readonly LiveRange[]): readonly (readonly number[])[] {
  const live: number[] = [];
  for (const { bytes, from, to } of ranges) {
    for (let step = from; step <= to; step++) live[step] = (live[step] ?? 0) + bytes;
  }
  const contention = ({ from, to }: LiveRange): number => {
    let most = 0;
    for (let step = from; step <= to; step++) most = Math.max(most, live[step]!);
    return most;
  };
  const by = (key: (range: LiveRange) => number): readonly number[] =>
    ranges
      .map((range, i) => ({ i, key: key(range), bytes: range.bytes }))
      .sort((a, b) => b.key - a.key || b.bytes - a.bytes || a.i - b.i)
      .map(({ i }) => i);
  return [
    by(contention),
    by(({ bytes }) => bytes),
    by(({ bytes, from, to }) => bytes * (to - from + 1)),
  ];
}

/** Places each range at the lowest offset that earlier ranges leave free. */
function inOrder(
  ranges: readonly LiveRange[],
  together: readonly (readonly number[])[],
  order: readonly number[],
): Layout {
  const offsets = new Array<number>(ranges.length).fill(-1);
  let bytes = 0;
  for (const i of order) {
    const near = together[i]!.filter((k) => offsets[k]! >= 0);
    near.sort((a, b) => offsets[a]! - offsets[b]!);
    const size = ranges[i]!.bytes;
    let at = 0;
    for (const k of near) {
      if (offsets[k]! >= at + size) break;
      at = Math.max(at, offsets[k]! + ranges[k]!.bytes);
    }
    offsets[i] = at;
    bytes = Math.max(bytes, at + size);
  }
  return { offsets, bytes };
}

/** Returns pseudorandom numbers from a fixed seed: the same program yields the same module. */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}
