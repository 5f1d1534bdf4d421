import type { Timeline } from '../../src/lab/timeline.ts';

/** A timeline of phases; each event is [op, change in bytes]. One millisecond per event. */
export function timelineOf(
  phases: Readonly<Record<string, readonly (readonly [op: string, change: number])[]>>,
  before = 0,
): Timeline {
  let allocated = before;
  const points: Timeline['points'][number][] = [];
  const cut = Object.entries(phases).map(([label, changes]) => {
    const firstPoint = points.length;
    const allocatedBefore = allocated;
    let peak = allocated;
    for (const [op, change] of changes) {
      allocated += change;
      peak = Math.max(peak, allocated);
      points.push({ at: points.length + 1, allocated, change, op });
    }
    const [from, until] = [firstPoint, points.length];
    return { label, from, until, firstPoint, endPoint: points.length, allocatedBefore, peak };
  });
  const peak = Math.max(before, ...cut.map((phase) => phase.peak));
  const duration = points.length + 1;
  return { device: 'cpu', allocatedBefore: before, points, phases: cut, peak, duration };
}
