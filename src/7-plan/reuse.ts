import { invariant } from '../../runtime/errors/invariant.ts';
import { mayOverwrite } from '../../runtime/ops/core/define-op.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { isContiguousMeta } from '../../runtime/tensor/meta.ts';
import { sameShape } from '../../runtime/tensor/shape.ts';
import type { StorageCount } from './order/storages.ts';

/** Gives each output memory: that of a dying operand, or new one. Returns the operands, or null. */
export function allocateOutputs(
  program: Program,
  op: ProgramOp,
  dying: readonly ValueId[],
  count: StorageCount,
): readonly (ValueId | null)[] {
  if (op.op.kernel.kind === 'view') {
    count.share(op.outputs[0]!, op.inputs[0]!);
    return [null];
  }
  return op.outputs.map((output, result) => {
    const reused = reusable(program, op, result, dying, count);
    if (reused === null) count.allocate(output, bytesOf(program.values, output));
    else count.share(output, reused);
    return reused;
  });
}

/**
 * A dying operand whose memory the output may take: only the program holds it, the kernel reads each
 * element before it writes it, and the sizes are equal.
 */
function reusable(
  program: Program,
  { op, inputs, outputs }: ProgramOp,
  result: number,
  dying: readonly ValueId[],
  count: StorageCount,
): ValueId | null {
  const output = outputs[result]!;
  const { shape, dtype, device } = program.values[output]!;
  const bytes = bytesOf(program.values, output);
  const candidate = inputs.find((id, i) => {
    if (!dying.includes(id) || !mayOverwrite(op, i, device, result)) return false;
    const meta = program.values[id]!;
    const storage = count.of(id);
    invariant(storage !== undefined, `%${id} is read but not in the scope`);
    return (
      storage.exclusive &&
      meta.device === device &&
      storage.owners === 1 &&
      storage.bytes === bytes &&
      bytes > 0 &&
      meta.offset === 0 &&
      // Blocks are rounded up: of few elements, narrow and wide ones fill blocks of one size.
      device.elementBytes(meta.dtype) === device.elementBytes(dtype) &&
      sameShape(meta.shape, shape) &&
      isContiguousMeta(meta)
    );
  });
  return candidate ?? null;
}
