import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { Field } from '../../runtime/save/file/field.ts';
import { cheapestKept } from '../5-optimize/recompute/cheapest-kept.ts';
import type { RecomputeSelection } from '../5-optimize/recompute/choice.ts';
import type { ForwardFacts } from '../5-optimize/recompute/forward-facts.ts';
import { readPolicy } from '../5-optimize/recompute/pressure.ts';
import { recomputeEvicted } from '../5-optimize/recompute/recompute-evicted.ts';
import {
  type Recomputed,
  recomputeInBackward,
} from '../5-optimize/recompute/recompute-in-backward.ts';
import { WorkBound } from '../5-optimize/recompute/work-bound.ts';
import { LateBytes, readBytes, readIndices } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import {
  type CandidateCompiler,
  type Chosen,
  measureOf,
  type Planning,
  peakBytes,
  searchWithin,
  shareToBeat,
  withoutRecompute,
} from './budget-search.ts';

/**
 * In: a program with its backward. Out: its plan, or, if that exceeds the budget, a plan in which backward recomputes
 * part of forward, with the least arithmetic found to be enough. If nothing is enough, the smallest plan. Null if it
 * can't be as cheap as another candidate.
 */
export function withinBudget(
  facts: ForwardFacts,
  budget: number,
  planning: Planning,
  compilation: CandidateCompiler,
): SubgraphStages | null {
  const { choices } = compilation;
  const { plan, usesOf } = planning;
  const known = choices.of('recompute', (choice) => {
    const { bytesBefore, how } = readChosen(choice, facts.program);
    return { bytesBefore: bytesBefore.read, recomputed: how && recomputedBy(how) };
  });
  if (known) return planned(known.bytesBefore, known.recomputed);
  const below = shareToBeat(compilation);
  const bound = new WorkBound(facts);
  if (below !== undefined) {
    const enough = below * Math.max(1, facts.forwardWork);
    if (bound.least(budget + planning.donatedBytes, enough) >= enough) return null;
  }
  const found = searchWithin(budget, facts, bound, planning, compilation);
  if (!found) return null;
  choices.note('recompute', found.chosen);
  found.take();
  return found.best;

  function recomputedBy(how: RecomputeSelection): Recomputed {
    if (!('stays' in how)) {
      const { isFused } = measureOf(facts.program, planning.costOf);
      return recomputeEvicted(usesOf(isFused), how);
    }
    return recomputeInBackward(facts, new Set(how.stays), new Set(how.brief));
  }

  function planned(bytesBefore: () => number, recomputed: Recomputed | null): SubgraphStages {
    if (recomputed === null) return withoutRecompute(plan(facts.program), budget);
    const { program, ops, work } = recomputed;
    const stages = plan(program);
    const bytes = peakBytes(stages);
    const share = work / Math.max(1, facts.forwardWork);
    return { ...stages, recompute: { budget, bytesBefore, bytes, ops, share } };
  }
}

function readChosen(choice: Field, { values }: Program): Chosen {
  const bytesBefore = new LateBytes(readBytes(choice.get('bytesBefore')));
  const how = choice.get('how');
  if (how.isNull) return { bytesBefore, how: null };
  if (!how.has('stays')) return { bytesBefore, how: readPolicy(how) };
  const ids = (field: Field) => readIndices(field, values.length) as ValueId[];
  return { bytesBefore, how: { stays: ids(how.get('stays')), brief: ids(how.get('brief')) } };
}

/**
 * Plans a subgraph that shares a budget with others: backward recomputes values that cost less than their bytes are
 * worth.
 */
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
    recompute: { budget, bytesBefore: () => bytes, bytes, ops, share, isShared: true },
  };
}
