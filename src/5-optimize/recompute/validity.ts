import type { ValueId } from '../../../runtime/program/program.ts';
import type { ForwardFacts } from './forward-facts.ts';

/**
 * Returns, for each memory that can be recomputed from kept memory, the first write to an operand that this needs; −1
 * for others.
 */
export function validity(facts: ForwardFacts, stays: ReadonlySet<ValueId>): Float64Array {
  const until = new Float64Array(facts.program.values.length).fill(-1);
  for (const index of facts.forward) {
    for (const id of facts.program.ops[index]!.outputs) {
      if (stays.has(id) || !facts.canRecompute(id)) continue;
      let limit = Number.POSITIVE_INFINITY;
      for (const operand of facts.operandsOf(index)) {
        const root = facts.rootOf(operand);
        const end = until[root]! >= 0 ? until[root]! : facts.nextWrite(root, index);
        limit = Math.min(limit, end);
      }
      until[id] = limit;
    }
  }
  return until;
}
