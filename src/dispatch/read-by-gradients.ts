import { operandUse } from '../../runtime/device/kernel-op.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import { readOutside } from '../regions/append-control.ts';
import type { TraceResult } from '../traces/trace-result.ts';

/** Indices of the inputs whose data gradients read. */
export interface ReadByGradients {
  /** Saved for backward, also by branches and loops. */
  readonly saved: readonly number[];
  /** Read after a write, possibly by a backward inside the program, whose ops look like any others. */
  readonly afterWrites: readonly number[];
}

/** Whether a gradient may read data: of the program's results after a run, or in a backward inside the program. */
export function mayReadByGradients({ differentiable, program }: TraceResult): boolean {
  return differentiable.includes(true) || differentiates(program);
}

function differentiates({ ops }: Program): boolean {
  return ops.some(({ backward, regions = [] }) => {
    return backward || regions.some(({ program }) => differentiates(program));
  });
}

export function readByGradients(
  { inputs, ops }: Program,
  { backward }: PlannedSubgraph,
): ReadByGradients {
  const afterWrites = new Set<ValueId>();
  const saved = new Set<ValueId>();
  let written = false;
  /** `roots`: the input that each value is or views. */
  const collect = (each: readonly ProgramOp[], roots: Map<ValueId, ValueId>): void => {
    for (const op of each) {
      const operands = op.inputs.map((id) => roots.get(id));
      const targets = writtenOperands(op);
      if (op.op.kernel.kind === 'view') {
        if (operands[0] !== undefined) roots.set(op.outputs[0]!, operands[0]);
      } else if (written) {
        operands.forEach((root, i) => {
          const isRead = !targets.includes(i) && operandUse(op.op, i) === 'data';
          if (isRead && root !== undefined) afterWrites.add(root);
        });
      }
      for (const index of readByBackwardOf(op))
        if (operands[index] !== undefined) saved.add(operands[index]);
      // No backward in a loop reads what was saved in an earlier iteration: such loops are no programs.
      for (const { program } of op.regions ?? []) {
        const first = operands.length - program.inputs.length;
        const inner = program.inputs.flatMap((id, i) => {
          const root = operands[first + i];
          return root === undefined ? [] : [[id, root] as const];
        });
        collect(program.ops, new Map(inner));
      }
      written ||= targets.length > 0;
    }
  };
  const roots = new Map(inputs.map((id) => [id, id]));
  collect(ops, roots);
  for (const id of backward?.saved.withData ?? []) {
    const root = roots.get(id);
    if (root !== undefined) saved.add(root);
  }
  const among = (ids: ReadonlySet<ValueId>) => inputs.flatMap((id, i) => (ids.has(id) ? [i] : []));
  return { saved: among(saved), afterWrites: among(afterWrites) };
}

/** The indices of the operands of a branch or loop that its own backward reads. */
function readByBackwardOf({ inputs, regions = [] }: ProgramOp): readonly number[] {
  return regions.flatMap(({ joint, program }) => {
    const first = inputs.length - program.inputs.length;
    return joint ? [...readOutside(joint).operands].map((i) => first + i) : [];
  });
}
