import { type Allocation, allocationsOf } from '../../../runtime/program/allocations.ts';
import type { Step } from '../../../runtime/program/plan.ts';
import type { Program } from '../../../runtime/program/program.ts';
import { type LiveRange, layOut } from './layout.ts';

export interface ArenaPlan {
  readonly steps: readonly Step[];
  readonly bytes: number;
}

/**
 * Puts what the steps make and free again into one block. What stays, goes through a control op, or belongs
 * to a sum of gradients that may be missing has memory of its own: the sum may be another one's memory.
 */
export function placeInArena({ values }: Program, steps: readonly Step[]): ArenaPlan {
  const inside = allocationsOf(steps, values).filter(
    (each): each is Allocation & { diesAt: number } => {
      return each.bytes > 0 && each.diesAt !== undefined && !each.shared;
    },
  );
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
  return {
    steps: steps.map((step, i) => (placed.has(i) ? { ...step, places: placed.get(i)! } : step)),
    bytes: inside.length > 0 ? bytes : 0,
  };
}
