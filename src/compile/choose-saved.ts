import type { PassName } from '../5-optimize/passes.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import { isBetter, isFree, isLeaner } from './compare-stages.ts';
import { type Candidate, type Compilation, onlyPlan, type PlanBy } from './compilation.ts';
import { incumbentOf } from './incumbent.ts';

type SmallerSavedPass = PassName & keyof MemoryOptions;

/** Passes that save smaller values instead of larger ones, each controlled by the memory option of the same name. */
const smallerSavedPasses: readonly SmallerSavedPass[] = [
  'savedMasks',
  'savedDtype',
  'recomputeScores',
];

/** Plans with bit masks if these need fewer bytes than byte masks: packing and unpacking take extra memory. */
export function* choosingSaved(compilation: Compilation, plan: PlanBy): Steps<SubgraphStages> {
  const { memory, choices } = compilation;
  if (memory.savedMasks !== 'bits') return yield* choosingSmaller(compilation, plan);
  const asBytes = () => choosingSmaller(compilation.with({ savedMasks: true }), plan);
  const asBits = () => choosingSmaller(compilation, plan);
  const known = choices.of('masks', (choice) => choice.oneOf(['bits', 'bytes']));
  if (known) return yield* known === 'bits' ? asBits() : asBytes();
  const inBytes = yield* compilation.candidate(asBytes);
  const inBits = yield* compilation.candidate(asBits);
  const areBits = isLeaner(inBits.made, inBytes.made);
  const { made, take } = areBits ? inBits : inBytes;
  choices.note('masks', areBits ? 'bits' : 'bytes');
  take();
  return made;
}

/** Saves smaller values only if the planned program then needs fewer bytes. */
function* choosingSmaller(compilation: Compilation, plan: PlanBy): Steps<SubgraphStages> {
  const { choices } = compilation;
  const whole = () => onlyPlan(plan(compilation));
  const without = (names: readonly SmallerSavedPass[], known?: SubgraphStages) => {
    const off = Object.fromEntries(
      names.map((name) => [name, name === 'savedDtype' ? null : false]),
    );
    return plan(compilation.with(off, known && incumbentOf(known)));
  };
  const known = choices.of('saved', (choice) =>
    choice.items().map((name) => name.oneOf(smallerSavedPasses)),
  );
  if (known) return yield* known.length === 0 ? whole() : onlyPlan(without(known));
  const all = yield* compilation.candidate(whole);
  const take = (names: readonly SmallerSavedPass[], { made, take }: Candidate<SubgraphStages>) => {
    choices.note('saved', names);
    take();
    return made;
  };
  const applied = smallerSavedPasses.filter((name) => all.made.passes[name]?.applied);
  if (applied.length === 0) return take([], all);
  // If the plan recomputes nothing, disabling the passes can't improve it.
  if (isFree(all.made)) return take([], all);
  let off: readonly SmallerSavedPass[] = [];
  let best = all;
  const alone = applied.length > 1 ? applied : [];
  const kept = [null, ...alone];
  for (const name of kept) {
    const others = smallerSavedPasses.filter((other) => other !== name);
    const { made } = best;
    const other = yield* compilation.candidateBelow(() => without(others, made));
    if (!other) continue;
    // Without a budget, the passes are used only if the plan with all of them is better than the plan with none, so
    // that the peak never rises.
    const isTaken =
      name || made.recompute ? isBetter(other.made, made) : !isBetter(made, other.made);
    if (isTaken) [off, best] = [others, other];
  }
  return take(off, best);
}
