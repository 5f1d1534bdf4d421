import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';

/** The rough number of arithmetic operations of one op; views have none. */
export function opWork({ op, inputs, outputs, attrs }: ProgramOp, values: ValueTable): number {
  if (op.kernel.kind === 'view') return 0;
  const made = outputs.map((id) => values[id]!);
  const given = inputs.map((id) => values[id]!);
  if (op.work) return op.work(given, made, attrs);
  const read = given.filter((_, i) => operandUse(op, i) === 'data');
  return [...read, ...made].reduce((sum, { shape }) => sum + sizeOf(shape), 0);
}
