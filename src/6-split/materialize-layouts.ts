import { operandUse } from '../../runtime/device/kernel-op.ts';
import {
  contiguousMeta,
  isContiguousMeta,
  type TensorMeta,
} from '../../runtime/device/tensor-meta.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';

/**
 * Inserts a contiguous copy of a strided operand before every op whose kernel doesn't support strides, as eager
 * execution does. Runs after the split, so that backward saves the view and not the copy; the copy is unaliased and
 * dies at that op. New values are appended to `values`.
 */
export function materializeLayouts(program: Program, values: TensorMeta[]): Program {
  const ops: ProgramOp[] = [];
  for (const op of program.ops) {
    const inputs = op.inputs.map((id, i) => {
      const meta = values[id]!;
      if (!needsCopy(op.op, i, meta)) return id;
      const copied = (values.push(contiguousMeta(meta, meta.device)) - 1) as ValueId;
      const { at } = op;
      ops.push({ op: copy, inputs: [id], outputs: [copied], attrs: {}, recordsGrad: false, at });
      return copied;
    });
    ops.push({ ...op, inputs });
  }
  return { ...program, values, ops };
}

function needsCopy(op: OpRecord, index: number, meta: TensorMeta): boolean {
  if (op.layout === 'any' || op.kernel.kind === 'view') return false;
  // A copy of the target would receive the write instead of the target.
  if (op.inPlace && index === 0) return false;
  return operandUse(op, index) === 'data' && !isContiguousMeta(meta);
}
