import { isFused } from '../device/kernel-op.ts';
import { alignedBytes } from '../memory/allocator.ts';
import { sizeOf } from '../spec/shape.ts';
import type { ProgramOp, ValueId, ValueTable } from './program.ts';

/** Returns the bytes that the allocator counts for a value with its own memory. */
export function bytesOf(values: ValueTable, id: ValueId): number {
  const { shape, dtype, device } = values[id]!;
  return alignedBytes(sizeOf(shape) * device.elementBytes(dtype));
}

/** Returns the bytes that an op's kernel allocates besides its outputs while it runs. */
export function scratchBytesOf(
  values: ValueTable,
  { op, inputs, outputs, attrs }: ProgramOp,
): number {
  const { kind } = op.kernel;
  if (kind === 'view' || kind === 'control' || isFused(op.kernel)) return 0;
  const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
  const written = metas(op.inPlace ? inputs.slice(0, 1) : outputs);
  return written[0]!.device.scratchBytes(op, metas(inputs), written, attrs);
}
