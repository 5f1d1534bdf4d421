import { isFused } from '../../runtime/ops/define-op.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../runtime/program/program.ts';

/** Bytes that an op's kernel takes from the allocator beside its outputs, while it runs. */
export function scratchBytesOf(
  values: ValueTable,
  { op, inputs, outputs, attrs }: ProgramOp,
): number {
  const { kind } = op.kernel;
  if (kind === 'view' || kind === 'control' || isFused(op.kernel)) return 0;
  const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
  const made = metas(op.inPlace ? inputs.slice(0, 1) : outputs);
  return made[0]!.device.scratchBytes(op, metas(inputs), made, attrs);
}
