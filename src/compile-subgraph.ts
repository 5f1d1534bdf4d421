import type { BackwardPart, SavedValues } from '../runtime/program/plan.ts';
import type { Program, ValueId } from '../runtime/program/program.ts';
import { verifyProgram } from '../runtime/program/verify.ts';
import type { TensorMeta } from '../runtime/tensor/meta.ts';
import { differentiate } from './4-differentiate/differentiate.ts';
import { eliminateDeadBackward } from './5-optimize/dead-code.ts';
import { normalize } from './5-optimize/normalize.ts';
import { materializeLayouts } from './6-split/materialize-layouts.ts';
import { split } from './6-split/split.ts';
import { planProgram } from './7-plan/plan.ts';
import { type MemoryOptions, memoryOptions } from './programs/memory-options.ts';
import type { SubgraphStages } from './programs/stages.ts';

/** What a program is differentiated for. */
export interface Differentiation {
  /** Per input: a gradient may flow there. */
  readonly needsGrad: readonly boolean[];
  /** Per output: a gradient may come from there. */
  readonly differentiable: readonly boolean[];
}

/**
 * Phases 4 to 7 for one traced program: differentiate, optimize, split, plan. Where no gradient can come
 * from any output, or flow to any input, the forward program alone is planned.
 */
export function compileSubgraph(
  tracedProgram: Program,
  { needsGrad, differentiable }: Differentiation,
  memory: MemoryOptions = memoryOptions(),
): SubgraphStages {
  const traced = normalize(tracedProgram);
  verifyProgram(traced);
  if (!needsGrad.includes(true) || !differentiable.includes(true)) {
    return planInference(traced, memory);
  }
  const joint = eliminateDeadBackward(differentiate(traced, needsGrad, differentiable));
  if (joint.gradOutputs.every((id) => id === null)) return planInference(traced, memory);
  const parts = split(joint);
  const values: TensorMeta[] = [...joint.program.values];
  const forward = materializeLayouts(parts.forward, values);
  const backward = materializeLayouts(parts.backward, values);
  verifyProgram(forward);
  verifyProgram(backward, parts.saved.withData.concat(parts.saved.noNeedBuffer));

  const keep = keptValues(forward, parts.saved, memory);
  const plannedForward = planProgram(forward, { keep, memory });
  const carried = plannedForward.kept;
  const part: BackwardPart = {
    plan: planProgram(backward, { keep: [], carried, inputsEnterAlone: true, memory }).plan,
    retainingPlan: planProgram(backward, { keep, carried, inputsEnterAlone: true, memory }).plan,
    saved: parts.saved,
    gradOutputs: joint.gradOutputs,
    gradInputs: joint.gradInputs,
  };
  const planned = { values, forward: plannedForward.plan, backward: part };
  return { traced, joint: joint.program, forward, backward, planned };
}

/** What stays in the scope between forward and backward: what backward reads, and what is not cleaned up. */
function keptValues(forward: Program, saved: SavedValues, memory: MemoryOptions): ValueId[] {
  const made = forward.ops.flatMap((op) => op.outputs);
  return [
    ...new Set([
      ...saved.withData,
      ...(memory.noNeedBuffer ? [] : saved.noNeedBuffer),
      ...(memory.unusedInputs ? [] : forward.inputs),
      ...(memory.unusedOutputs ? [] : forward.outputs),
      ...(memory.skipSet ? [] : made),
    ]),
  ].sort((a, b) => a - b);
}

function planInference(traced: Program, memory: MemoryOptions): SubgraphStages {
  const values: TensorMeta[] = [...traced.values];
  const forward = materializeLayouts(traced, values);
  verifyProgram(forward);
  const { plan } = planProgram(forward, { keep: [], memory });
  const planned = { values, forward: plan, backward: null };
  return { traced, joint: null, forward, backward: null, planned };
}
