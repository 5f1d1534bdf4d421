import type { BackwardPart } from '../runtime/program/plan.ts';
import type { Program } from '../runtime/program/program.ts';
import { verifyProgram } from '../runtime/program/verify.ts';
import type { TensorMeta } from '../runtime/tensor/meta.ts';
import { differentiate } from './4-differentiate/differentiate.ts';
import { eliminateDeadBackward } from './5-optimize/dead-code.ts';
import { normalize } from './5-optimize/normalize.ts';
import { materializeLayouts } from './6-split/materialize-layouts.ts';
import { split } from './6-split/split.ts';
import { planProgram } from './7-plan/plan.ts';
import type { SubgraphStages } from './programs/stages.ts';

/**
 * Phases 4 to 7 for one traced program: differentiate, optimize, split, plan. `needsGrad` says per input
 * whether the run records for backward; without any the forward program alone is planned.
 */
export function compileSubgraph(
  tracedProgram: Program,
  needsGrad: readonly boolean[],
): SubgraphStages {
  const traced = normalize(tracedProgram);
  verifyProgram(traced);
  if (!needsGrad.includes(true)) return planInference(traced);

  const joint = eliminateDeadBackward(differentiate(traced, needsGrad));
  if (joint.gradOutputs.every((id) => id === null)) return planInference(traced);
  const parts = split(joint);
  const values: TensorMeta[] = [...joint.program.values];
  const forward = materializeLayouts(parts.forward, values);
  const backward = materializeLayouts(parts.backward, values);
  verifyProgram(forward);
  verifyProgram(backward, parts.saved.withData.concat(parts.saved.noNeedBuffer));

  const keep = parts.saved.withData;
  const plannedForward = planProgram(forward, { keep });
  const carried = plannedForward.kept;
  const part: BackwardPart = {
    plan: planProgram(backward, { keep: [], carried }).plan,
    retainingPlan: planProgram(backward, { keep, carried }).plan,
    saved: parts.saved,
    gradOutputs: joint.gradOutputs,
    gradInputs: joint.gradInputs,
  };
  const planned = { values, forward: plannedForward.plan, backward: part };
  return { traced, joint: joint.program, forward, backward, planned };
}

function planInference(traced: Program): SubgraphStages {
  const values: TensorMeta[] = [...traced.values];
  const forward = materializeLayouts(traced, values);
  verifyProgram(forward);
  const { plan } = planProgram(forward, { keep: [] });
  const planned = { values, forward: plan, backward: null };
  return { traced, joint: null, forward, backward: null, planned };
}
