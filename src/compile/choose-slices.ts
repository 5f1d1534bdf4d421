import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import { isFree } from './compare-stages.ts';
import { type Compilation, onlyPlan, type PlanBy } from './compilation.ts';
import { type Rival, rivalOf } from './rival.ts';
import { cheaper } from './within-budget.ts';

/**
 * Plans with slices, and if a budget makes slices expensive, also without. Null: another candidate is at least as
 * cheap.
 */
export function* choosingSlices(
  compilation: Compilation,
  plan: PlanBy,
): Steps<SubgraphStages | null> {
  const { memory, choices } = compilation;
  const withoutSlices = (rival?: Rival) => plan(compilation.with({ slices: false }, rival));
  if (!memory.slices || memory.budget === null) return yield* plan(compilation);
  const known = choices.of('sliced', (choice) => ({
    isSliced: choice.get('isSliced').boolean(),
    bytesBefore: choice.get('bytesBefore').int(0, Number.MAX_SAFE_INTEGER),
  }));
  if (known) {
    const stages = yield* onlyPlan(known.isSliced ? plan(compilation) : withoutSlices());
    const bytesBefore = () => known.bytesBefore;
    return { ...stages, recompute: { ...stages.recompute!, bytesBefore } };
  }
  const sliced = yield* compilation.candidateBelow(() => plan(compilation));
  let best = sliced;
  if (compilation.passes.slices?.applied && !(sliced && isFree(sliced.made))) {
    const rival = sliced ? rivalOf(sliced.made) : undefined;
    const unsliced = yield* compilation.candidateBelow(() => withoutSlices(rival));
    const made = sliced && unsliced && cheaper(sliced.made, unsliced.made);
    if (unsliced && made !== sliced?.made)
      best = { made: made ?? unsliced.made, take: unsliced.take };
  }
  if (!best) return null;
  const { made, take } = best;
  choices.note('sliced', {
    isSliced: take === sliced?.take,
    get bytesBefore() {
      return made.recompute!.bytesBefore();
    },
  });
  take();
  return made;
}
