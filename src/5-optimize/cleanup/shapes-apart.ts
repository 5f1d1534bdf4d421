import { operandUse } from '../../../runtime/device/kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { bytesOf } from '../../../runtime/program/value-bytes.ts';

const leastBytes = 4096;

/**
 * Where backward reads a value of forward only for its shape, makes it read one number expanded to that shape: the
 * value may then exist only a few rows at a time, inside a fused op. The number takes the allocator's smallest block
 * throughout the run, so programs of small values are not changed.
 */
export function shapesApart(program: Program): Program {
  const { ops } = program;
  const defined = new Set(ops.flatMap(({ outputs }) => outputs));
  const lastRead = new Map<ValueId, number>();
  ops.forEach(({ op, inputs }, index) => {
    inputs.forEach((id, i) => {
      if (operandUse(op, i) === 'data' || op.kernel.kind === 'view') lastRead.set(id, index);
    });
  });
  const values = [...program.values];
  const first: ProgramOp[] = [];
  const shapes = new Map<string, ValueId>();
  let most = 0;
  const define = (meta: TensorMeta) => (values.push(meta) - 1) as ValueId;
  const ofShape = (id: ValueId, source: ProgramOp): ValueId => {
    most = Math.max(most, bytesOf(values, id));
    const { dtype, shape, device } = values[id]!;
    const key = `${dtype} ${shape}`;
    const known = shapes.get(key);
    if (known !== undefined) return known;
    const single = define(contiguousMeta({ dtype, shape: [] }, device));
    const repeated = define({ dtype, shape, strides: shape.map(() => 0), offset: 0, device });
    const attrs = { shape: [], value: 0, dtype };
    const copied = { ...source, recordsGrad: false };
    first.push(
      { ...copied, op: opNamed('full'), inputs: [], outputs: [single], attrs },
      { ...copied, op: opNamed('expand'), inputs: [single], outputs: [repeated], attrs: { shape } },
    );
    shapes.set(key, repeated);
    return repeated;
  };
  const changed = ops.map((each, index): ProgramOp => {
    const { op, inputs } = each;
    const isApart = (id: ValueId, i: number) => {
      const last = lastRead.get(id) ?? index;
      // If backward also reads the value's elements, it exists as a whole anyway.
      return operandUse(op, i) === 'shape' && defined.has(id) && ops[last]!.recordsGrad === true;
    };
    if (!each.backward || op.kernel.kind !== 'named' || !inputs.some(isApart)) return each;
    return { ...each, inputs: inputs.map((id, i) => (isApart(id, i) ? ofShape(id, each) : id)) };
  });
  return most >= leastBytes ? { ...program, values, ops: [...first, ...changed] } : program;
}
