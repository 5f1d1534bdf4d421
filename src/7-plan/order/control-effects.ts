import { hasEffect } from '../../../runtime/program/control-ops.ts';
import type { ProgramOp } from '../../../runtime/program/program.ts';

/** Whether running the op may be refused, or is seen from outside. */
export function mayRefuse(op: ProgramOp): boolean {
  if (op.op.kernel.kind === 'control') return hasEffect(op);
  return op.op.mayRefuse === true;
}

/** Whether an op of its regions writes in place: then to which operand is not asked. */
export function writesInside({ regions = [] }: ProgramOp): boolean {
  return regions.some(({ program }) => program.ops.some((op) => op.op.inPlace || writesInside(op)));
}
