import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { readCounts } from './facts/read-counts.ts';

/**
 * Computes the gradient of cross entropy row by row: logSoftmaxGrad(nllLossGrad(dy)) without the intermediate
 * tensor, which has one nonzero element per row. Bitwise equal: the row's sum is that element.
 */
export function labelGradient(program: Program): Program {
  const values = [...program.values];
  const ops: ProgramOp[] = [...program.ops];
  const reads = readCounts(program);
  const sparse = new Map<ValueId, number>();
  program.ops.forEach((op, index) => {
    if (op.op.name === 'nllLossGrad') sparse.set(op.outputs[0]!, index);
    const [dy, out] = op.inputs;
    const at = op.op.name === 'logSoftmaxGrad' ? sparse.get(dy!) : undefined;
    if (at === undefined || reads.get(dy!) !== 1) return;
    const { device, dtype } = values[dy!]!;
    if (!device.overwritesOperands || (dtype !== 'float32' && dtype !== 'float64')) return;
    const loss = ops[at]!;
    const [input, target] = loss.inputs as readonly [ValueId, ValueId];
    const share = (values.push(contiguousMeta({ dtype, shape: [] }, device)) - 1) as ValueId;
    const outputs = [share];
    ops[at] = { ...loss, op: opNamed('nllLossShare'), inputs: [input, target], outputs };
    ops[index] = { ...op, op: opNamed('crossEntropyGrad'), inputs: [share, target, out!] };
  });
  return values.length > program.values.length ? { ...program, values, ops } : program;
}
