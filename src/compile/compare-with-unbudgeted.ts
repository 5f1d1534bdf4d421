import type { ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { savedViews } from '../5-optimize/compact-views.ts';
import { readsMask } from '../5-optimize/saved-masks.ts';
import { type Choices, LateBytes, readBytes } from '../programs/choices.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import type { Recompute, SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import { peakBytes } from './budget-search.ts';
import type { CompileOptions } from './compilation.ts';

type Plan = (options: CompileOptions, choices: Choices) => Steps<SubgraphStages>;

/**
 * A budget disables copies of views, and recomputing may leave no use for masks. A program that could benefit from
 * either is also planned without the budget. That plan is used if it fits, or if no smaller plan was found; explain()
 * compares with its bytes.
 */
export function* compareWithUnbudgeted(
  options: CompileOptions,
  choices: Choices,
  plan: Plan,
): Steps<SubgraphStages> {
  const { budget } = options.memory;
  if (budget === null) return yield* plan(options, choices);
  const free: CompileOptions = {
    ...options,
    memory: { ...options.memory, budget: null, prefer: 'bytes' },
  };
  const fitting = (stages: SubgraphStages, bytes: number): SubgraphStages => {
    const recompute = { budget, bytesBefore: () => bytes, bytes, ops: 0, share: 0 };
    return { ...stages, recompute };
  };
  const comparedWith = (stages: SubgraphStages, bytesBefore: () => number): SubgraphStages => {
    return { ...stages, recompute: stages.recompute && { ...stages.recompute, bytesBefore } };
  };
  const known = choices.of('budget', (choice) => ({
    isNeeded: choice.get('isNeeded').boolean(),
    bytesBefore: readBytes(choice.get('bytesBefore')),
  }));
  if (known) {
    const stages = yield* plan(known.isNeeded ? options : free, choices);
    return known.isNeeded
      ? comparedWith(stages, known.bytesBefore)
      : fitting(stages, peakBytes(stages));
  }
  const take = (stages: SubgraphStages, isNeeded: boolean, own: Choices): SubgraphStages => {
    choices.note('budget', {
      isNeeded,
      bytesBefore: new LateBytes(() => stages.recompute?.bytesBefore() ?? 0),
    });
    choices.take(own);
    return stages;
  };
  const within = choices.candidate();
  const stages = yield* plan(options, within);
  if (!mayNeedNoBudget(stages, options.memory)) return take(stages, true, within);
  const beside = choices.candidate();
  const unbounded = yield* plan(free, beside);
  const bytesBefore = peakBytes(unbounded);
  if (bytesBefore >= stages.recompute!.bytesBefore()) return take(stages, true, within);
  // If no plan fits, the smaller one is used.
  if (bytesBefore > Math.max(budget, stages.recompute!.bytes)) {
    return take(
      comparedWith(stages, () => bytesBefore),
      true,
      within,
    );
  }
  return take(fitting(unbounded, bytesBefore), false, beside);
}

/** Whether the program exceeds the budget without recompute and could need less with masks or copies of views. */
function mayNeedNoBudget(stages: SubgraphStages, memory: MemoryOptions): boolean {
  const { recompute } = stages;
  // Without a budget, a program that recomputes would need more.
  if (!recompute || recompute.isShared || (recompute.ops === 0 && isHeld(recompute))) return false;
  const program = stages.joint ?? stages.traced;
  const mayHaveMasks = memory.savedMasks && program.ops.some((op) => readsMask(program, op));
  return Boolean(mayHaveMasks) || (memory.compactViews && viewsOfLarger(stages).length > 0);
}

function isHeld({ bytes, budget }: Recompute): boolean {
  return bytes <= budget;
}

/** Saved views of larger values that forward computes. */
export function viewsOfLarger(stages: SubgraphStages): readonly ValueId[] {
  const { joint, forward, planned, original } = stages;
  if (!joint || !planned.backward) return [];
  const { withData } = planned.backward.saved;
  return savedViews(joint, withData, forward.outputs).flatMap(({ root, views, bytes }) => {
    const isLarger = !forward.inputs.includes(root) && bytesOf(planned.values, root) > bytes;
    return isLarger ? views.map((id) => original?.[id] ?? id) : [];
  });
}
