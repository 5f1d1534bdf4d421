import type { SubgraphStages } from '../programs/stages.ts';

/** A plan that another plan has to beat: by less arithmetic if it fits the budget, otherwise by fewer bytes. */
export type Incumbent =
  | { readonly kind: 'fitting'; readonly share: number }
  | { readonly kind: 'exceeding'; readonly bytes: number };

/** Returns a plan as an incumbent of others; undefined if it has no budget. */
export function incumbentOf({ recompute }: SubgraphStages): Incumbent | undefined {
  if (!recompute) return undefined;
  const { bytes, budget, share } = recompute;
  return bytes <= budget ? { kind: 'fitting', share } : { kind: 'exceeding', bytes };
}

/** The tolerance when comparing the arithmetic of plans within the budget. */
const slight = 1e-9;

/** Returns a plan as an incumbent that other plans may also equal in arithmetic. */
export function equalIncumbentOf(stages: SubgraphStages): Incumbent | undefined {
  const incumbent = incumbentOf(stages);
  return incumbent?.kind === 'fitting'
    ? { ...incumbent, share: incumbent.share * (1 + slight) }
    : incumbent;
}

/** Returns the incumbent that is harder to beat. */
export function harderIncumbent(
  one: Incumbent | undefined,
  other: Incumbent | undefined,
): Incumbent | undefined {
  if (!one || !other) return one ?? other;
  if (one.kind === 'exceeding' && other.kind === 'exceeding') {
    return one.bytes < other.bytes ? one : other;
  }
  return other.kind === 'fitting' ? other : one;
}
