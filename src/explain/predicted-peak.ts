import { formatPosition } from '../../runtime/errors/position.ts';
import {
  hasControl,
  type PeakLimit,
  type PlannedSubgraph,
  type PredictedMemory,
} from '../../runtime/program/plan.ts';
import { loopGrowths, predictRun } from '../7-plan/control/predict-run.ts';
import type { RunRecord } from '../programs/compiled-part.ts';

/**
 * The peak planned for the last run, in bytes; for a program with branches and loops, on the path that the run took.
 * Null if it made more decisions than are recorded, or failed.
 */
export function predictedPeak({ planned, donated, decisions }: RunRecord): number | null {
  if (!planned) return null;
  if (!hasControl(planned.forward.steps)) return planned.forward.predicted.peakBytes;
  if (!decisions.complete) return null;
  return predictRun(planned, decisions.list, donated).forward.peakBytes;
}

const limits: Readonly<Record<PeakLimit, string | null>> = {
  paths: 'it has more paths than are simulated',
  shapes: 'the shapes of a call are data-dependent',
  // A separate line per loop shows how the peak grows.
  iterations: null,
};

/** Describes why a run may need more than the predicted peak. */
export function explainLimits({ mayExceed = [] }: PredictedMemory): string[] {
  const reasons = mayExceed.flatMap((limit) => limits[limit] ?? []);
  return reasons.length > 0 ? [`          a run may need more: ${reasons.join('; ')}`] : [];
}

/** Returns a line for each loop that saves values for backward. */
export function explainLoops(planned: PlannedSubgraph): string[] {
  if (!hasControl(planned.forward.steps)) return [];
  return loopGrowths(planned).map(({ op, baseBytes, bytesPerIteration, fromIterations }) => {
    const position = op.at ? ` at ${formatPosition(op.at)}` : '';
    const from = fromIterations > 0 ? `, from ${fromIterations} on` : '';
    return `          of n iterations of the loop${position}: ${baseBytes} + n * ${bytesPerIteration} bytes${from}`;
  });
}
