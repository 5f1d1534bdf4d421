import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { Field } from '../../runtime/save/field.ts';
import { cheapestKept } from '../5-optimize/recompute/cheapest-kept.ts';
import type { Choice, Cost } from '../5-optimize/recompute/choice.ts';
import type { ForwardFacts } from '../5-optimize/recompute/forward-facts.ts';
import { recomputeInBackward } from '../5-optimize/recompute/recompute-in-backward.ts';
import { RecomputeSearch } from '../5-optimize/recompute/recompute-search.ts';
import { readIndices } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { finish, type Steps } from '../programs/steps.ts';
import type { Compilation } from './compilation.ts';

interface Planning {
  /** Roughly what a program needs: cheap enough to compare many. */
  readonly costOf: Cost;
  readonly plan: (program: Program) => SubgraphStages;
}

/** The parts of a compilation that are compiled and that note its choices. */
type Noted = Pick<Compilation, 'choices' | 'candidate'>;

/** A plan that recomputes more than this share of forward's arithmetic is expensive. */
const expensiveShare = 0.05;

/** A plan this near to the budget, or with so little arithmetic, is good enough. */
const tight = 0.02;

/** The cheap measure and the plan may differ, by other bytes for each choice: then the search is told how many. */
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
  compilation: Noted,
): SubgraphStages {
  const { choices } = compilation;
  const known = choices.of('recompute', (choice) => readChosen(choice, facts.program));
  if (known) return planned(known);
  const { best, chosen, take } = searched(facts, budget, { costOf, plan }, compilation);
  choices.note('recompute', chosen);
  take();
  return best;

  function planned({ bytesBefore, stays, brief }: Chosen): SubgraphStages {
    if (stays === null) return withoutRecompute(plan(facts.program), budget);
    const { program, ops, work } = recomputeInBackward(facts, new Set(stays), new Set(brief));
    const stages = plan(program);
    const bytes = peakBytes(stages);
    const share = work / Math.max(1, facts.forwardWork);
    return { ...stages, recompute: { budget, bytesBefore, bytes, ops, share } };
  }
}

interface Chosen {
  /** Bytes of the program with nothing computed twice. */
  readonly bytesBefore: number;
  /** Null: nothing is. */
  readonly stays: readonly ValueId[] | null;
  readonly brief: readonly ValueId[];
}

function readChosen(choice: Field, { values }: Program): Chosen {
  const ids = (field: Field) => readIndices(field, values.length) as ValueId[];
  const stays = choice.get('stays');
  return {
    bytesBefore: choice.get('bytesBefore').int(0, Number.MAX_SAFE_INTEGER),
    stays: stays.isNull ? null : ids(stays),
    brief: ids(choice.get('brief')),
  };
}

function withoutRecompute(stages: SubgraphStages, budget: number) {
  const bytes = peakBytes(stages);
  return { ...stages, recompute: { budget, bytesBefore: bytes, bytes, ops: 0, share: 0 } };
}

interface Searched {
  readonly best: SubgraphStages;
  readonly chosen: Chosen;
  readonly take: () => void;
}

function searched(
  facts: ForwardFacts,
  budget: number,
  { costOf, plan: planOf }: Planning,
  compilation: Noted,
): Searched {
  function* steps(program: Program): Steps<SubgraphStages> {
    yield;
    return planOf(program);
  }
  const plan = (program: Program) => finish(compilation.candidate(() => steps(program)));
  const plain = plan(facts.program);
  const bytesBefore = peakBytes(plain.made);
  const chosenOf = (choice: Choice | null): Chosen => {
    if (!choice) return { bytesBefore, stays: null, brief: [] };
    return { bytesBefore, stays: [...choice.stays], brief: [...choice.brief] };
  };
  let best = withoutRecompute(plain.made, budget);
  let { take } = plain;
  let taken: Choice | null = null;
  const done = (): Searched => ({ best, chosen: chosenOf(taken), take });
  if (bytesBefore <= budget) return done();
  const all = facts.forwardWork;
  const search = new RecomputeSearch(facts, costOf);
  let target = budget - bytesBefore + costOf(facts.program);
  const planned = new Set<Program>();
  for (let attempt = 0; attempt < attempts; attempt++) {
    const choice = search.within(target);
    if (choice.ops === 0 || planned.has(choice.program)) return done();
    planned.add(choice.program);
    const candidate = plan(choice.program);
    const stages = candidate.made;
    const bytes = peakBytes(stages);
    const share = choice.work / Math.max(1, all);
    const recompute = { budget, bytesBefore, bytes, ops: choice.ops, share };
    const cheapest = cheaper(best, { ...stages, recompute });
    if (cheapest !== best) {
      best = cheapest as typeof best;
      taken = choice;
      take = candidate.take;
    }
    const room = budget - bytes;
    if (room >= 0 && (room < tight * budget || share < tight)) return done();
    if (room < 0 && choice.bytesFor(target) > target) return done();
    const corrected = budget + choice.bytes - bytes;
    if (room >= 0 && corrected <= target) return done();
    target = corrected;
  }
  return done();
}

/** The plan of a subgraph that shares a budget with others: backward computes again what costs less than it is worth. */
export function atRate(
  facts: ForwardFacts,
  budget: number,
  rate: number,
  plan: Planning['plan'],
): SubgraphStages {
  const { program, ops, work } = recomputeInBackward(facts, cheapestKept(facts, rate, new Set()));
  const stages = plan(program);
  const bytes = peakBytes(stages);
  const share = work / Math.max(1, facts.forwardWork);
  return {
    ...stages,
    recompute: { budget, bytesBefore: bytes, bytes, ops, share, isShared: true },
  };
}

/** The budget isn't held, or takes more than a little arithmetic. */
export function isExpensive({ recompute }: SubgraphStages): boolean {
  return (
    recompute !== null && (recompute.bytes > recompute.budget || recompute.share > expensiveShare)
  );
}

/**
 * Chooses between two plans of one step: the one within the budget with less arithmetic, else the one that needs
 * fewer bytes.
 */
export function cheaper(plain: SubgraphStages, other: SubgraphStages): SubgraphStages {
  const [before, after] = [plain.recompute!, other.recompute!];
  const fits = ({ bytes, budget }: typeof before) => bytes <= budget;
  const isCheaper = fits(before)
    ? fits(after) && after.share < before.share
    : fits(after) || after.bytes < before.bytes;
  if (!isCheaper) return plain;
  return { ...other, recompute: { ...after, bytesBefore: before.bytesBefore } };
}

/** The peak of forward and backward together, above what was allocated before. */
export function peakBytes({ planned: { forward, backward } }: SubgraphStages): number {
  const { peakBytes, savedBytes, outputBytes } = forward.predicted;
  if (!backward) return peakBytes;
  return Math.max(peakBytes, savedBytes + outputBytes + backward.plan.predicted.peakBytes);
}
