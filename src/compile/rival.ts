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

/** Returns the one that is harder to beat. */
export function harder(one: Rival | undefined, other: Rival | undefined): Rival | undefined {
  if (!one || !other) return one ?? other;
  if (one.kind === 'exceeding' && other.kind === 'exceeding') {
    return one.bytes < other.bytes ? one : other;
  }
  return other.kind === 'fitting' ? other : one;
}
