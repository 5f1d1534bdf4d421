import type { Program, ValueId } from '../../runtime/program/program.ts';
import { verifyProgram } from '../../runtime/program/verify/verify.ts';
import { compactedInputs, compactViews } from '../5-optimize/compact-views.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import { keepsLess } from './compare-stages.ts';
import { viewsOfLarger } from './compare-with-unbudgeted.ts';
import { Compilation } from './compilation.ts';

/**
 * Plans with copies of the saved views named in the options, and also with copies of other views if backward then
 * keeps less.
 */
export function* choosingCompacted(
  compilation: Compilation,
  traced: Program,
  plan: (by: Compilation, program: Program) => Steps<SubgraphStages>,
): Steps<SubgraphStages> {
  const { options, choices } = compilation;
  const { memory, compact = [] } = options;
  function* copying(by: Compilation, views: readonly ValueId[]): Steps<SubgraphStages> {
    const { program, original } = compactViews(traced, views);
    verifyProgram(program);
    yield;
    const stages = yield* plan(by, program);
    if (views.length === 0) return stages;
    const compacted = compactedInputs(stages, views, original);
    return { ...stages, original, planned: { ...stages.planned, compacted } };
  }
  const stages = yield* copying(compilation, compact);
  if (!memory.compactViews || memory.budget !== null || compilation.isFirst) return stages;
  const views = viewsOfLarger(stages);
  if (views.length === 0) return stages;
  const compacted = yield* copying(new Compilation(options, choices), [...compact, ...views]);
  return keepsLess(compacted, stages) ? compacted : stages;
}
