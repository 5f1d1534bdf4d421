import { operandUse } from '../../runtime/ops/define-op.ts';
import type { Program, ProgramOp } from '../../runtime/program/program.ts';

/** Kernels that look at indices or labels throw when one is out of range. */
export function mayRefuse({ op, inputs }: ProgramOp, { values }: Pick<Program, 'values'>): boolean {
  if (op.kernel.kind !== 'named' || op.name === 'contiguous') return false;
  return inputs.some((id, i) => operandUse(op, i) === 'data' && values[id]!.dtype === 'int32');
}
