import { type Allocation, allocationsOf } from '../../../runtime/program/allocations.ts';
import type { Plan, Step } from '../../../runtime/program/plan.ts';
import type { ValueTable } from '../../../runtime/program/program.ts';
import type { MemoryOptions } from '../../programs/memory-options.ts';
import { type LiveRange, layOut } from './layout.ts';

/**
 * The plan with what its steps make and free again in one block, where they run on one device whose memory is addressed
 * by offsets. What stays, goes through a control op, or belongs to a sum of gradients that may be missing has memory of
 * its own: the sum may be another one's memory. The peak is the same, so that only the plan that runs needs places. Only
 * where the run is all there is: memory that is kept for a backward would hold the whole block.
 */
export function placedInArena(
  plan: Plan,
  values: ValueTable,
  { arena, freeAtLastUse }: Wanted,
): Plan {
  const { steps } = plan;
  if (!arena || !freeAtLastUse || !isAddressed(steps, values)) return plan;
  const inside = allocationsOf(steps, values).filter(
    (each): each is Allocation & { diesAt: number } => {
      return each.bytes > 0 && each.diesAt !== undefined && !each.shared;
    },
  );
  if (inside.length === 0) return plan;
  const ranges = inside.map(({ step, diesAt, bytes }): LiveRange => {
    return { from: step, to: diesAt, bytes };
  });
  const { offsets, bytes } = layOut(ranges);
  const placed = new Map<number, (number | null)[]>();
  inside.forEach(({ step, output }, i) => {
    const places = placed.get(step) ?? steps[step]!.op.outputs.map(() => null);
    places[output] = offsets[i]!;
    placed.set(step, places);
  });
  const own = steps.map((step, i) => (placed.has(i) ? { ...step, places: placed.get(i)! } : step));
  return { ...plan, steps: own, arenaBytes: bytes };
}

type Wanted = Pick<MemoryOptions, 'arena' | 'freeAtLastUse'>;

function isAddressed(steps: readonly Step[], values: ValueTable): boolean {
  const devices = new Set(steps.flatMap(({ op }) => op.outputs.map((id) => values[id]!.device)));
  const [device] = devices;
  return devices.size === 1 && device!.allocator.openRegion !== undefined;
}
