import type { SubgraphStages } from '../programs/stages.ts';

/** A plan that another one has to beat: by less arithmetic within the budget, else by fewer bytes. */
export type Rival =
  | { readonly kind: 'fitting'; readonly share: number }
  | { readonly kind: 'exceeding'; readonly bytes: number };

/** A plan as a rival of others; undefined if it has no budget. */
export function rivalOf({ recompute }: SubgraphStages): Rival | undefined {
  if (!recompute) return undefined;
  const { bytes, budget, share } = recompute;
  return bytes <= budget ? { kind: 'fitting', share } : { kind: 'exceeding', bytes };
}

/** Plans within the budget are compared by arithmetic to this share. */
const slight = 1e-9;

/** A plan as a rival of others that may also recompute as much as it does. */
export function equalRivalOf(stages: SubgraphStages): Rival | undefined {
  const rival = rivalOf(stages);
  return rival?.kind === 'fitting' ? { ...rival, share: rival.share * (1 + slight) } : rival;
}

/** Returns the one that is harder to beat. */
export function harder(one: Rival | undefined, other: Rival | undefined): Rival | undefined {
  if (!one || !other) return one ?? other;
  if (one.kind === 'exceeding' && other.kind === 'exceeding') {
    return one.bytes < other.bytes ? one : other;
  }
  return other.kind === 'fitting' ? other : one;
}
