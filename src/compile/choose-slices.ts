import { LateBytes, readBytes } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import { isCheaper } from './budget-search.ts';
import { isFree } from './compare-stages.ts';
import { type Compilation, onlyPlan, type PlanBy } from './compilation.ts';
import { equalIncumbentOf, type Incumbent } from './incumbent.ts';

/**
 * Plans with slices, and if a budget makes slices expensive, also without: if both recompute equally much, the plan
 * without slices has fewer kernels. Null if another candidate is at least as cheap.
 */
export function* choosingSlices(
  compilation: Compilation,
  plan: PlanBy,
): Steps<SubgraphStages | null> {
  const { memory, choices } = compilation;
  const withoutSlices = (incumbent?: Incumbent) =>
    plan(compilation.with({ slices: false }, incumbent));
  if (!memory.slices || memory.budget === null) return yield* plan(compilation);
  const known = choices.of('sliced', (choice) => ({
    isSliced: choice.get('isSliced').boolean(),
    bytesBefore: readBytes(choice.get('bytesBefore')),
  }));
  if (known) {
    const stages = yield* onlyPlan(known.isSliced ? plan(compilation) : withoutSlices());
    const { bytesBefore } = known;
    return { ...stages, recompute: { ...stages.recompute!, bytesBefore } };
  }
  const sliced = yield* compilation.candidateBelow(() => plan(compilation));
  let best = sliced;
  if (compilation.passes.slices?.applied && !(sliced && isFree(sliced.made))) {
    const incumbent = sliced ? equalIncumbentOf(sliced.made) : undefined;
    const unsliced = yield* compilation.candidateBelow(() => withoutSlices(incumbent));
    if (unsliced && !(sliced && isCheaper(sliced.made, unsliced.made))) {
      best = { made: comparedWith(unsliced.made, sliced?.made), take: unsliced.take };
    }
  }
  if (!best) return null;
  const { made, take } = best;
  choices.note('sliced', {
    isSliced: take === sliced?.take,
    bytesBefore: new LateBytes(() => made.recompute!.bytesBefore()),
  });
  take();
  return made;
}

/** Adds the bytes of a plan that recomputes nothing, which explain() compares with. */
function comparedWith(stages: SubgraphStages, other: SubgraphStages | undefined): SubgraphStages {
  const bytesBefore = other?.recompute?.bytesBefore;
  return bytesBefore ? { ...stages, recompute: { ...stages.recompute!, bytesBefore } } : stages;
}
