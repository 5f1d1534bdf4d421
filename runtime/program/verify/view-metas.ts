import { presentView } from '../../device/symbolic-attrs.ts';
import { sameStrides, type TensorMeta } from '../../device/tensor-meta.ts';
import { sameShape, sizeOf } from '../../spec/shape.ts';
import type { Program, ProgramOp, ValueTable } from '../program.ts';

/** Whether the strides and offset in the table are those that the view's op derives from its operand. */
export function isViewAsDeclared(values: ValueTable, op: ProgramOp): boolean {
  const declared = values[op.outputs[0]!]!;
  const derived = viewMeta(values, op);
  return derived !== null && isSamePlace(declared, derived);
}

/** Returns the program with the meta of every view recomputed, for passes that change operands of views. */
export function withDerivedViews(program: Program): Program {
  const values = [...program.values];
  let changed = false;
  for (const op of program.ops) {
    const derived = op.op.kernel.kind === 'view' ? viewMeta(values, op) : null;
    const [view] = op.outputs;
    if (!derived || isSamePlace(values[view!]!, derived)) continue;
    values[view!] = derived;
    changed = true;
  }
  return changed ? { ...program, values } : program;
}

function viewMeta(values: ValueTable, { op, inputs, attrs }: ProgramOp): TensorMeta | null {
  if (op.kernel.kind !== 'view') return null;
  return presentView(
    op,
    inputs.map((id) => values[id]!),
    attrs,
  );
}

/** Compares the addressed elements: strides of size-1 dimensions and the meta of an empty tensor are irrelevant. */
function isSamePlace(a: TensorMeta, b: TensorMeta): boolean {
  if (a.dtype !== b.dtype || !sameShape(a.shape, b.shape)) return false;
  if (sizeOf(a.shape) === 0) return true;
  return a.offset === b.offset && sameStrides(a, b);
}
