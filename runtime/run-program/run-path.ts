import { DynamicTensor } from '../device/dynamic-tensor.ts';
import { ListMark } from '../device/tensor-list.ts';
import type { TakenPath, TakenRegion } from '../program/higher-order-gradients.ts';
import type { PlannedSubgraph, Step } from '../program/plan.ts';
import type { ValueTable } from '../program/program.ts';
import { operandsOfRun } from './control/operands-of-runs.ts';
import type { RegionRun } from './control/region.ts';
import { Tape } from './control/tape.ts';
import { Slot } from './scope/scope.ts';

/** The values of the program, or of one run of a region. */
export interface Frame {
  readonly slots: readonly Slot[];
  readonly values: ValueTable;
}

/** A path, and the frames it refers to by index. */
export interface RunPath {
  readonly taken: TakenPath;
  readonly frames: readonly Frame[];
}

/** Reads the path of a run from its tapes; null for a program without tapes. */
export function pathOf(planned: PlannedSubgraph, slots: readonly Slot[]): RunPath | null {
  const frames: Frame[] = [];
  const runOf = (step: Step, region: RegionRun, own: readonly Slot[]): TakenRegion => {
    const frame = frames.length;
    const inside = follow(region.planned, own);
    const given = step.call && operandsOfRun(region);
    const number = step.regions?.indexOf(region.planned) ?? 0;
    return { region: number, frame, inside, ...(given && { given }) };
  };
  const follow = ({ forward, values }: PlannedSubgraph, own: readonly Slot[]): TakenPath => {
    frames.push({ slots: own, values });
    const tapes: TakenPath['tapes'][number][] = [];
    const marks: TakenPath['marks'][number][] = [];
    for (const step of forward.steps) {
      const last = step.op.outputs.at(-1);
      const holder = last === undefined ? null : own[last]!.holder;
      if (holder instanceof ListMark) marks.push({ mark: last!, index: holder.index });
      if (!(holder instanceof Tape)) continue;
      const runs = Array.from({ length: holder.length }, (_, i) => {
        const { region, scope } = holder.at(i);
        return runOf(step, region, scope.slots);
      });
      tapes.push({ tape: last!, runs });
    }
    return { tapes, marks };
  };
  const taken = follow(planned, slots);
  return taken.tapes.length === 0 ? null : { taken, frames };
}

/** Returns a value's slot on the path, with the shape it has in this run. */
export function slotOnPath(slot: Slot): Slot {
  if (!(slot.holder instanceof DynamicTensor)) return slot;
  const { holder, offset } = slot.holder.data;
  const target = new Slot();
  target.put(holder, offset);
  return target;
}
