import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Program, ProgramOp } from '../../../runtime/program/program.ts';
import { contiguousStrides, viewStrides } from '../../../runtime/spec/shape.ts';

/**
 * Replaces each `reshapeLike`, which reads a value only for its shape, by a reshape to that shape. A value without
 * other reads then takes no memory in a fused op.
 */
export function withoutShapeReads(program: Program): Program {
  const { values } = program;
  const reshape = opNamed('reshape');
  let changed = false;
  const ops = program.ops.map((op): ProgramOp => {
    if (op.op.name !== 'reshapeLike') return op;
    const [x, out] = [values[op.inputs[0]!]!, values[op.outputs[0]!]!];
    const strides = viewStrides(x.shape, x.strides, out.shape);
    const expected = contiguousStrides(out.shape);
    if (!strides?.every((stride, i) => stride === expected[i])) return op;
    changed = true;
    return { ...op, op: reshape, inputs: [op.inputs[0]!], attrs: { shape: out.shape } };
  });
  return changed ? { ...program, ops } : program;
}
