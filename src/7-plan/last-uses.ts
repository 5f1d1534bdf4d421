import { operandUse } from '../../runtime/ops/core/define-op.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';

/** Index of the last op that reads each value's data. Reading a shape needs no memory. */
export function lastUses(program: Program): ReadonlyMap<ValueId, number> {
  const last = new Map<ValueId, number>();
  program.ops.forEach(({ op, inputs }, index) => {
    inputs.forEach((id, i) => {
      if (operandUse(op, i) === 'data') last.set(id, index);
    });
  });
  return last;
}

/** Values without a use after this op, including unused outputs of its own. */
export function dyingAt(
  op: ProgramOp,
  index: number,
  lastUse: ReadonlyMap<ValueId, number>,
  staying: ReadonlySet<ValueId>,
): ValueId[] {
  const operands = op.inputs.filter((id) => lastUse.get(id) === index);
  const unread = op.outputs.filter((id) => !lastUse.has(id));
  return [...new Set([...operands, ...unread])].filter((id) => !staying.has(id));
}
