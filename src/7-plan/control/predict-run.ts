import type { PlannedSubgraph } from '../../../runtime/program/plan.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import { type Decider, type FollowedBytes, FollowedRun } from './follow.ts';
import { RecordedWay, type UniformWay } from './ways.ts';
import { worstWay } from './worst-way.ts';

/** Bytes of one run of a subgraph above those before it; backward's above those after forward. */
export interface RunBytes {
  readonly forward: FollowedBytes;
  /** Null: there is no backward. */
  readonly backwardPeak: number | null;
}

/** What a way decides: on record, or by control op. */
export type WayOfRun = readonly number[] | Decider;

/**
 * The bytes of a run of which it is known what its control ops decide: exact, to the byte. `decisions` in
 * the order in which they begin: 0 or 1 for the branch, or the number of turns. `donated`: numbers of the
 * inputs that the program owns.
 */
export function predictRun(
  planned: PlannedSubgraph,
  decisions: WayOfRun,
  donated: readonly number[] = [],
): RunBytes {
  const way = 'branch' in decisions ? decisions : new RecordedWay(decisions);
  const run = new FollowedRun(planned, way);
  const entering = { alone: () => false, donated: (i: number) => donated.includes(i) };
  const followed = run.forward(planned.forward, entering);
  const { copiedBytes } = planned.forward.predicted;
  const forward = { ...followed, peakBytes: followed.peakBytes + copiedBytes };
  if (!planned.backward) return { forward, backwardPeak: null };
  const { plan, gradOutputs } = planned.backward;
  const alone = { alone: () => true, donated: () => false };
  return { forward, backwardPeak: run.backward(plan, alone, gradOutputs).peakBytes };
}

/** How the peak of forward grows with the turns of one loop: `base` + turns × `perTurn`. */
export interface LoopGrowth {
  readonly op: ProgramOp;
  readonly baseBytes: number;
  readonly bytesPerTurn: number;
  /** From this number of turns on. */
  readonly fromTurns: number;
}

/** Loops are followed for so many turns, and for twice as many. */
const fewTurns = 4;

/** Of every loop that keeps something for backward, the others at one turn; branches on the way that needs most. */
export function loopGrowths(planned: PlannedSubgraph): LoopGrowth[] {
  const follow = (way: UniformWay) => predictRun(planned, way).forward;
  const worst = worstWay(follow);
  return [...worst.options.keys()].flatMap((op): LoopGrowth[] => {
    if (op.op.name !== 'while') return [];
    const at = (turns: number) => follow(worst.with(op, turns)).peakBytes;
    const bytesPerTurn = (at(2 * fewTurns) - at(fewTurns)) / fewTurns;
    if (bytesPerTurn === 0) return [];
    const baseBytes = at(fewTurns) - fewTurns * bytesPerTurn;
    let fromTurns = fewTurns;
    while (fromTurns > 0 && at(fromTurns - 1) === baseBytes + (fromTurns - 1) * bytesPerTurn) {
      fromTurns--;
    }
    return [{ op, baseBytes, bytesPerTurn, fromTurns }];
  });
}
