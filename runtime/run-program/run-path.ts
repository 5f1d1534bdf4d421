import type { PlannedSubgraph } from '../program/plan.ts';
import type { ValueTable } from '../program/program.ts';
import type { TakenPath } from '../program/taken-path.ts';
import { Tape } from './control/tape.ts';
import type { Slot } from './scope/scope.ts';

/** The values of the program, or of one run of a region. */
export interface Frame {
  readonly slots: readonly Slot[];
  readonly values: ValueTable;
}

/** A path, with the frames whose numbers it contains. */
export interface RunPath {
  readonly taken: TakenPath;
  readonly frames: readonly Frame[];
}

/** Reads the path of a run from its tapes; null for a program that has none. */
export function pathOf(planned: PlannedSubgraph, slots: readonly Slot[]): RunPath | null {
  const frames: Frame[] = [];
  const follow = ({ forward, values }: PlannedSubgraph, own: readonly Slot[]): TakenPath => {
    frames.push({ slots: own, values });
    return forward.steps.flatMap(({ op, regions }) => {
      const tape = op.outputs.at(-1);
      const record = regions && own[tape!]!.holder;
      if (!(record instanceof Tape)) return [];
      const runs = Array.from({ length: record.length }, (_, i) => {
        const { region, scope } = record.at(i);
        const frame = frames.length;
        const inside = follow(region.planned, scope.slots);
        return { region: regions!.indexOf(region.planned), frame, inside };
      });
      return [{ tape: tape!, runs }];
    });
  };
  const taken = follow(planned, slots);
  return taken.length === 0 ? null : { taken, frames };
}
