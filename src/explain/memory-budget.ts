import { plural } from '../../runtime/errors/plural.ts';
import type { Recompute } from '../programs/stages.ts';

/** Describes the effect of a memory budget; no lines without one. */
export function explainBudget(recompute: Recompute | null): string[] {
  if (!recompute) return [];
  const { budget, bytesBefore, bytes, ops, share } = recompute;
  if (recompute.isShared) {
    const again =
      ops === 0
        ? 'nothing'
        : `${plural(ops, 'op')}, ${(100 * share).toFixed(1)} % of forward's arithmetic`;
    return [
      `  budget: ${budget} bytes for all subgraphs of a step: backward computes ${again} again`,
    ];
  }
  const needed = `  budget: ${budget} bytes, ${bytes} needed`;
  const least = isMissed(recompute) ? ', the least that was found' : '';
  if (ops === 0) return [`${needed}${least}: nothing is computed twice`];
  const percent = (100 * share).toFixed(1);
  return [
    `${needed}${least}, ${bytesBefore()} otherwise: backward computes ${plural(ops, 'op')} again, ` +
      `${percent} % of forward's arithmetic`,
  ];
}

/** Describes the last step of several subgraphs. */
export function explainStep(bytes: number): string {
  return `memory: the subgraphs of the last step needed ${bytes} bytes beside its inputs`;
}

/** The warning for a budget that no plan fits; null if the plan fits. */
export function missedBudget(recompute: Recompute | null, name: string): string | null {
  if (!recompute || recompute.isShared || !isMissed(recompute)) return null;
  const { budget, bytes } = recompute;
  return (
    `${name || 'a function'} needs ${bytes} bytes beside its inputs, ${bytes - budget} more than its memory ` +
    'budget, even if backward recomputes whatever it can'
  );
}

function isMissed({ budget, bytes }: Recompute): boolean {
  return bytes > budget;
}
