import { operandUse } from '../../runtime/device/kernel-op.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import { readOutside } from '../regions/append-control.ts';

/** Indices of the inputs whose data gradients read. */
export interface ReadByGradients {
  /** Saved for backward, also by branches and loops. */
  readonly saved: readonly number[];
  /** Read after a write, possibly by a backward inside the program, whose ops look like any others. */
  readonly afterWrites: readonly number[];
}

export function readByGradients(
  { inputs, ops }: Program,
  { backward }: PlannedSubgraph,
): ReadByGradients {
  const roots = new Map<ValueId, ValueId>();
  const rootOf = (id: ValueId): ValueId => roots.get(id) ?? id;
  const afterWrites = new Set<ValueId>();
  const saved = new Set<ValueId>();
  let written = false;
  for (const each of ops) {
    const { op, inputs: operands, outputs } = each;
    const targets = writtenOperands(each);
    if (op.kernel.kind === 'view') roots.set(outputs[0]!, rootOf(operands[0]!));
    else if (written) {
      operands.forEach((id, i) => {
        if (!targets.includes(i) && operandUse(op, i) === 'data') afterWrites.add(rootOf(id));
      });
    }
    written ||= targets.length > 0;
    for (const id of readByBackwardOf(each)) saved.add(rootOf(id));
  }
  for (const id of backward?.saved.withData ?? []) saved.add(rootOf(id));
  const among = (ids: ReadonlySet<ValueId>) => inputs.flatMap((id, i) => (ids.has(id) ? [i] : []));
  return { saved: among(saved), afterWrites: among(afterWrites) };
}

/** The operands of a branch or loop that its own backward reads. */
function readByBackwardOf({ inputs, regions = [] }: ProgramOp): readonly ValueId[] {
  return regions.flatMap(({ joint, program }) => {
    const first = inputs.length - program.inputs.length;
    return joint ? [...readOutside(joint).operands].map((i) => inputs[first + i]!) : [];
  });
}
