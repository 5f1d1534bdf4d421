import type { BackwardPart, PlannedSubgraph } from '../../../runtime/program/plan.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import { type Decider, RecordedDecisions } from '../../../runtime/run-program/simulate/decider.ts';
import {
  type RunBytes as BytesOfRun,
  SimulatedRun,
} from '../../../runtime/run-program/simulate/simulated-run.ts';
import type { UniformPath } from './uniform-path.ts';
import { worstPath } from './worst-path.ts';

/** Bytes of one run of a subgraph above the bytes in use before it; for backward, above those in use after forward. */
interface RunBytes {
  readonly forward: BytesOfRun;
  /** Null if there is no backward. */
  readonly backwardPeak: number | null;
}

/** The decisions of a path: recorded ones, or a decider per control op. */
type DecisionsOfRun = readonly number[] | Decider;

/**
 * Predicts the bytes of a run whose control-flow decisions are known, exactly. `decisions`, in the order in which the
 * control ops begin: 0 or 1 for a branch, the number of iterations for a loop. `donated`: indices of the inputs that
 * the program owns.
 */
export function predictRun(
  planned: PlannedSubgraph,
  decisions: DecisionsOfRun,
  donated: readonly number[] = [],
): RunBytes {
  const path = 'branch' in decisions ? decisions : new RecordedDecisions(decisions);
  const run = new SimulatedRun(planned.values, path);
  const entering = { alone: () => false, donated: (i: number) => donated.includes(i) };
  const simulated = run.forward(planned.forward, entering);
  const { copiedBytes } = planned.forward.predicted;
  const forward = { ...simulated, peakBytes: simulated.peakBytes + copiedBytes };
  const backwardPeak = planned.backward && backwardPeakOf(run, planned.backward);
  run.end();
  return { forward, backwardPeak };
}

function backwardPeakOf(run: SimulatedRun, { plan, gradOutputs }: BackwardPart): number {
  const alone = { alone: () => true, donated: () => false };
  return run.backward(plan, alone, gradOutputs).peakBytes;
}

/** How forward's peak grows with the iterations of one loop: `base` + iterations × `perIteration`. */
interface LoopGrowth {
  readonly op: ProgramOp;
  readonly baseBytes: number;
  readonly bytesPerIteration: number;
  /** The formula holds from this many iterations on. */
  readonly fromIterations: number;
}

/** Loops are simulated for this many iterations, and for twice as many. */
const fewIterations = 4;

/**
 * Returns the bytes per iteration of every loop that saves values for backward, with all other loops at one iteration
 * and branches on the worst path.
 */
export function loopGrowths(planned: PlannedSubgraph): LoopGrowth[] {
  const simulate = (path: UniformPath) => predictRun(planned, path).forward;
  const { path: worst } = worstPath(simulate);
  return [...worst.options.keys()].flatMap((op): LoopGrowth[] => {
    if (op.op.name !== 'while') return [];
    const at = (iterations: number) => simulate(worst.with(op, iterations)).peakBytes;
    const bytesPerIteration = (at(2 * fewIterations) - at(fewIterations)) / fewIterations;
    if (bytesPerIteration === 0) return [];
    const baseBytes = at(fewIterations) - fewIterations * bytesPerIteration;
    let fromIterations = fewIterations;
    while (
      fromIterations > 0 &&
      at(fromIterations - 1) === baseBytes + (fromIterations - 1) * bytesPerIteration
    ) {
      fromIterations--;
    }
    return [{ op, baseBytes, bytesPerIteration, fromIterations }];
  });
}
