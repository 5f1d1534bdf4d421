import { expectArguments } from '../../runtime/options/expect-options.ts';
import { anObject } from '../../runtime/options/option-kinds.ts';
import { unfusedOps } from '../../runtime/program/fused/unfused.ts';
import type { Plan, PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program } from '../../runtime/program/program.ts';
import type { PassName } from '../5-optimize/passes.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';

/** How often each memory optimization was applied to a subgraph, forward and backward, by its switch. */
export interface AppliedCounts {
  /** Ops that were moved from their position in program order. */
  readonly order: number;
  /** Results that reused an operand's memory. */
  readonly reuse: number;
  /** Values placed in the arena. */
  readonly arena: number;
  /** Inputs that died with the last call. */
  readonly donate: number;
  /** Passes that changed what backward keeps. */
  readonly minimizeSaved: number;
  /** Passes that replaced saved values by masks. */
  readonly savedMasks: number;
  /** Passes that replaced saved positions of maxima by positions within their windows. */
  readonly savedPlaces: number;
  /** Passes that made backward recompute scores of attention. */
  readonly recomputeScores: number;
  /** Ops that compute attention, or its gradient, by tiles. */
  readonly tileAttention: number;
  /** Passes that saved values in fewer bits. */
  readonly savedDtype: number;
  /** Passes that offloaded saved values. */
  readonly offload: number;
  /** Inputs whose views backward keeps copies of. */
  readonly compactViews: number;
  /** Chains of ops that run slice by slice. */
  readonly slices: number;
  /** Passes that made backward recompute intermediate values of `checkpoint` calls. */
  readonly checkpoints: number;
  /** Ops that run twice, within a budget. */
  readonly recompute: number;
}

const passesOfMinimizeSaved = [
  'pooledRelu',
  'labelGradient',
  'joinedGradients',
  'shareCopies',
  'shareParts',
  'rematerialize',
] as const satisfies readonly PassName[];

/** Counts for one part of a captured function, as `programs()` returns them; null if it has no tensor op. */
export function appliedTo(part: CompiledPart): AppliedCounts | null {
  expectArguments('appliedTo', { part }, { part: anObject });
  const { stages, record } = part;
  if (!stages) return null;
  const { forward, backward, passes, recompute } = stages;
  const ordered = plansOf(stages.planned);
  const programs = [forward, ...(backward ? [backward] : [])];
  const steps = plansOf(record.planned ?? stages.planned).flatMap((plan) => plan.steps);
  const applied = (name: PassName) => passes[name]?.applied ?? 0;
  return {
    order: ordered.reduce((sum, plan, i) => sum + movedOps(programs[i]!, plan), 0),
    reuse: steps.flatMap(({ reuses }) => reuses).filter((id) => id !== null).length,
    arena: steps.flatMap(({ places = [] }) => places).filter((offset) => offset !== null).length,
    donate: record.donated.length,
    minimizeSaved: passesOfMinimizeSaved.reduce((sum, name) => sum + applied(name), 0),
    savedMasks: applied('savedMasks'),
    savedPlaces: applied('savedPlaces'),
    recomputeScores: applied('recomputeScores'),
    tileAttention: steps.filter(({ op }) => op.op.kernel.kind === 'tiled').length,
    savedDtype: applied('savedDtype'),
    offload: applied('offload'),
    compactViews: stages.planned.compacted?.length ?? 0,
    slices: applied('slices'),
    checkpoints: applied('checkpoints'),
    recompute: recompute?.ops ?? 0,
  };
}

function plansOf({ forward, backward }: PlannedSubgraph): Plan[] {
  return [forward, ...(backward ? [backward.plan] : [])];
}

function movedOps({ ops }: Program, { steps }: Plan): number {
  return unfusedOps(steps.map(({ op }) => op)).filter((op, i) => op !== ops[i]).length;
}
