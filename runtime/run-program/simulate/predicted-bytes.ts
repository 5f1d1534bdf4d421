import { copiedInputs } from '../../program/checks.ts';
import { hasControl, type PlannedSubgraph, type PredictedMemory } from '../../program/plan.ts';
import { bytesOf } from '../../program/value-bytes.ts';
import { RecordedDecisions } from './decider.ts';
import { SimulatedRun } from './simulated-run.ts';

/**
 * Predicts the forward bytes of a plan from a file; null if they depend on a branch or loop. Doesn't search for
 * the lower bound of other orders.
 */
export function predictedBytes({ values, forward }: PlannedSubgraph): PredictedMemory | null {
  if (hasControl(forward.steps)) return null;
  const copied = copiedInputs(forward).map((i) => bytesOf(values, forward.inputs[i]!));
  const copiedBytes = copied.reduce((sum, bytes) => sum + bytes, 0);
  const run = new SimulatedRun(values, new RecordedDecisions([]));
  const unowned = { alone: () => false, donated: () => false };
  const { peakBytes, savedBytes, outputBytes } = run.forward(forward, unowned);
  run.end();
  return {
    peakBytes: peakBytes + copiedBytes,
    mayExceed: [],
    lowerBoundBytes: 0,
    savedBytes,
    outputBytes,
    copiedBytes,
  };
}
