import { operandUse } from '../../runtime/device/kernel-op.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import { readOutside } from '../regions/append-control.ts';

/**
 * Indices of the inputs whose data is saved for backward, also by branches and loops, or read after a write,
 * possibly by a backward inside the program, whose ops look like any others.
 */
export function readByGradients(
  { inputs, ops }: Program,
  { backward }: PlannedSubgraph,
): readonly number[] {
  const roots = new Map<ValueId, ValueId>();
  const rootOf = (id: ValueId): ValueId => roots.get(id) ?? id;
  const read = new Set<ValueId>();
  let written = false;
  for (const each of ops) {
    const { op, inputs: operands, outputs } = each;
    const targets = writtenOperands(each);
    if (op.kernel.kind === 'view') roots.set(outputs[0]!, rootOf(operands[0]!));
    else if (written) {
      operands.forEach((id, i) => {
        if (!targets.includes(i) && operandUse(op, i) === 'data') read.add(rootOf(id));
      });
    }
    written ||= targets.length > 0;
    for (const id of readByBackwardOf(each)) read.add(rootOf(id));
  }
  for (const id of backward?.saved.withData ?? []) read.add(rootOf(id));
  return inputs.flatMap((id, i) => (read.has(id) ? [i] : []));
}

/** The operands of a branch or loop that its own backward reads. */
function readByBackwardOf({ inputs, regions = [] }: ProgramOp): readonly ValueId[] {
  return regions.flatMap(({ joint, program }) => {
    const first = inputs.length - program.inputs.length;
    return joint ? [...readOutside(joint).operands].map((i) => inputs[first + i]!) : [];
  });
}
