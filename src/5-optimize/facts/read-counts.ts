import type { Program, ValueId } from '../../../runtime/program/program.ts';

/** Returns how often each value is read, as an operand or as an output. */
export function readCounts({ ops, outputs }: Program): ReadonlyMap<ValueId, number> {
  const counts = new Map<ValueId, number>();
  const add = (id: ValueId) => counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const { inputs } of ops) inputs.forEach(add);
  outputs.forEach(add);
  return counts;
}
