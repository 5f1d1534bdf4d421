import type { SubgraphStages } from '../programs/stages.ts';
import { cheaper, peakBytes } from './budget-search.ts';

/** Whether `a` saves fewer bytes for backward and has no higher peak. */
export function keepsLess(a: SubgraphStages, b: SubgraphStages): boolean {
  const keptBy = ({ planned }: SubgraphStages) => planned.forward.predicted.savedBytes;
  return keptBy(a) < keptBy(b) && peakBytes(a) <= peakBytes(b);
}

/** Whether `a` keeps less and its forward has no higher peak; for a program without a backward only the peak counts. */
export function isLeaner(a: SubgraphStages, b: SubgraphStages): boolean {
  if (!a.planned.backward) return peakBytes(a) < peakBytes(b);
  const [one, other] = [a, b].map(({ planned }) => planned.forward.predicted.peakBytes);
  return keepsLess(a, b) && one! <= other!;
}

/** Whether `a` is leaner or, within a budget of one program, fits with less arithmetic. */
export function isBetter(a: SubgraphStages, b: SubgraphStages): boolean {
  const isBudgeted = a.recompute && b.recompute && !a.recompute.isShared;
  return isBudgeted ? cheaper(b, a) !== b : isLeaner(a, b);
}

/** Whether a plan within a budget recomputes nothing. */
export function isFree({ recompute }: SubgraphStages): boolean {
  return recompute !== null && recompute.bytes <= recompute.budget && recompute.ops === 0;
}
