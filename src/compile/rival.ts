import type { SubgraphStages } from '../programs/stages.ts';

/** A plan that another plan has to beat: by less arithmetic if it fits the budget, otherwise by fewer bytes. */
export type Rival =
  | { readonly kind: 'fitting'; readonly share: number }
  | { readonly kind: 'exceeding'; readonly bytes: number };

/** Returns a plan as a rival of others; undefined if it has no budget. */
export function rivalOf({ recompute }: SubgraphStages): Rival | undefined {
  if (!recompute) return undefined;
  const { bytes, budget, share } = recompute;
  return bytes <= budget ? { kind: 'fitting', share } : { kind: 'exceeding', bytes };
}

/** The tolerance when comparing the arithmetic of plans within the budget. */
const slight = 1e-9;

/** Returns a plan as a rival that other plans may also equal in arithmetic. */
export function equalRivalOf(stages: SubgraphStages): Rival | undefined {
  const rival = rivalOf(stages);
  return rival?.kind === 'fitting' ? { ...rival, share: rival.share * (1 + slight) } : rival;
}

/** Returns the rival that is harder to beat. */
export function harder(one: Rival | undefined, other: Rival | undefined): Rival | undefined {
  if (!one || !other) return one ?? other;
  if (one.kind === 'exceeding' && other.kind === 'exceeding') {
    return one.bytes < other.bytes ? one : other;
  }
  return other.kind === 'fitting' ? other : one;
}
