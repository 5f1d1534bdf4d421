import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program } from '../../runtime/program/program.ts';
import type { CompiledInput, CompileOptions } from '../compile/compilation.ts';
import type { SubgraphStages } from '../programs/stages.ts';

/** The source of a planned subgraph, so that it can be compiled with other options. */
export interface CompiledFrom extends CompiledInput {
  readonly compile: (
    program: Program,
    requested: CompiledInput['requested'],
    options: CompileOptions,
    donated: readonly number[],
  ) => SubgraphStages;
}

const known = new WeakMap<PlannedSubgraph, CompiledFrom>();

export function rememberSource(stages: SubgraphStages, source: CompiledFrom): SubgraphStages {
  known.set(stages.planned, source);
  return stages;
}

export function sourceOf(planned: PlannedSubgraph): CompiledFrom | undefined {
  return known.get(planned);
}
