import type { Program } from '../runtime/program/program.ts';
import type { ForwardFacts } from './5-optimize/recompute/forward-facts.ts';
import { type Cost, RecomputeSearch } from './5-optimize/recompute/recompute-search.ts';
import type { SubgraphStages } from './programs/stages.ts';

interface Planning {
  /** Roughly what a program needs: cheap enough to compare many. */
  readonly costOf: Cost;
  readonly plan: (program: Program) => SubgraphStages;
}

/** The cheap measure and the plan may differ: a choice that misses the budget is made again with more room. */
const attempts = 4;

/**
 * In: a program with its backward. Out: its plan; where that needs more than the budget, one in which
 * backward computes some of forward again, with as little arithmetic as was found to be enough. Where nothing
 * is enough: the plan that needs least.
 */
export function withinBudget(
  facts: ForwardFacts,
  budget: number,
  { costOf, plan }: Planning,
): SubgraphStages {
  const plain = plan(facts.program);
  const bytesBefore = peakBytes(plain);
  const nothing = { budget, bytesBefore, bytes: bytesBefore, ops: 0, share: 0 };
  let best = { ...plain, recompute: nothing };
  if (bytesBefore <= budget) return best;
  const all = facts.forward.reduce((sum, index) => sum + facts.workOfOp(index), 0);
  const search = new RecomputeSearch(facts, costOf);
  let target = budget - bytesBefore + costOf(facts.program);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const choice = search.within(target);
    if (choice.ops === 0) return best;
    const stages = plan(choice.program);
    const bytes = peakBytes(stages);
    const share = choice.work / Math.max(1, all);
    const recompute = { budget, bytesBefore, bytes, ops: choice.ops, share };
    if (bytes < best.recompute.bytes) best = { ...stages, recompute };
    if (bytes <= budget || choice.bytes > target) return best;
    target -= bytes - budget;
  }
  return best;
}

/** Of forward and backward together, above what was allocated before. */
function peakBytes({ planned: { forward, backward } }: SubgraphStages): number {
  const { peakBytes, savedBytes, outputBytes } = forward.predicted;
  if (!backward) return peakBytes;
  return Math.max(peakBytes, savedBytes + outputBytes + backward.plan.predicted.peakBytes);
}
