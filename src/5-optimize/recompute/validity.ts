import type { ValueId } from '../../../runtime/program/program.ts';
import type { ForwardFacts } from './forward-facts.ts';

/** For each memory that can be recomputed from what stays, the first write to one of its operands. */
export function validity(
  facts: ForwardFacts,
  stays: ReadonlySet<ValueId>,
): ReadonlyMap<ValueId, number> {
  const until = new Map<ValueId, number>();
  for (const index of facts.forward) {
    for (const id of facts.program.ops[index]!.outputs) {
      if (stays.has(id) || !facts.canBeMadeAgain(id)) continue;
      const limits = facts.operandsOf(index).map((operand) => {
        const root = facts.rootOf(operand);
        return until.get(root) ?? facts.nextWrite(root, index);
      });
      until.set(id, Math.min(Number.POSITIVE_INFINITY, ...limits));
    }
  }
  return until;
}
