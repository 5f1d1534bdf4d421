import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';

/** The rough number of arithmetic operations of one op; views have none. */
export function opWork({ op, inputs, outputs, attrs }: ProgramOp, values: ValueTable): number {
  if (op.kernel.kind === 'view') return 0;
  const metaOf = (id: ValueId) => values[id]!;
  if (op.work) return op.work(inputs.map(metaOf), outputs.map(metaOf), attrs);
  let work = 0;
  inputs.forEach((id, i) => {
    if (operandUse(op, i) === 'data') work += sizeOf(metaOf(id).shape);
  });
  for (const id of outputs) work += sizeOf(metaOf(id).shape);
  return work;
}
