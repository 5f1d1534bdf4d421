import type { Step } from '../plan.ts';
import type { ProgramOp, ValueId } from '../program.ts';
import { leavesOf } from './fused-op.ts';

/** Returns the ops with fused ops replaced by their parts. */
export function unfusedOps(ops: readonly ProgramOp[]): ProgramOp[] {
  return ops.flatMap(leavesOf);
}

/**
 * Returns the steps with fused ops split into their parts, each with its own memory: for devices without fused
 * kernels, and for passes that remove some of the parts. Results are bitwise identical. By default all fused ops
 * are split; otherwise those for which `isApart` returns true.
 */
export function unfusedSteps(
  steps: readonly Step[],
  isApart: (op: ProgramOp) => boolean = () => true,
): readonly Step[] {
  return steps.flatMap((step) => {
    const { parts } = step.op;
    return parts && isApart(step.op) ? unfusedSteps(partSteps(step, parts), isApart) : [step];
  });
}

function partSteps({ op, frees }: Step, parts: readonly ProgramOp[]): Step[] {
  const outside = new Set([...op.inputs, ...op.outputs]);
  const last = new Map<ValueId, number>();
  parts.forEach((part, i) => {
    for (const id of [...part.inputs, ...part.outputs]) last.set(id, i);
  });
  return parts.map((part, i): Step => {
    const dying = [...last].flatMap(([id, at]) => (at === i && !outside.has(id) ? [id] : []));
    const atEnd = i === parts.length - 1 ? frees : [];
    return { op: part, reuses: part.outputs.map(() => null), frees: [...dying, ...atEnd] };
  });
}
