import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { readCounts } from './facts/read-counts.ts';

/**
 * Makes the gradient of max-pooling over a relu read the pooled values instead of the relu's output, which is
 * larger and usually saved only for this: reluGrad(maxPool2dGrad(dy)) = maxPool2dGrad(reluGrad(dy)). Bitwise equal:
 * all windows that chose one position have its value, so either all of its contributions pass or none.
 */
export function pooledRelu(program: Program): Program {
  const reads = readCounts(program);
  const values = [...program.values];
  const ops: ProgramOp[] = [...program.ops];
  /** The maxima and their positions, by pooled value. */
  const pooled = new Map<ValueId, readonly [largest: ValueId, places: ValueId]>();
  const unpooled = new Map<ValueId, number>();
  program.ops.forEach((op, index) => {
    const { inputs, outputs } = op;
    const [first, second] = inputs;
    if (op.op.name === 'maxPool2d') pooled.set(first!, [outputs[0]!, outputs[1]!]);
    if (op.op.name === 'maxPool2dGrad' && reads.get(outputs[0]!) === 1) {
      unpooled.set(outputs[0]!, index);
    }
    if (op.op.name !== 'reluGrad') return;
    const [at, pool] = [unpooled.get(first!), pooled.get(second!)];
    if (at === undefined || pool === undefined) return;
    const backwardOp = ops[at]!;
    const [largest, places] = pool;
    const [gradient, chosen, shape] = backwardOp.inputs;
    if (chosen !== places || shape !== second) return;
    const masked = (values.push(values[largest]!) - 1) as ValueId;
    ops[at] = { ...op, inputs: [gradient!, largest], outputs: [masked] };
    ops[index] = { ...backwardOp, inputs: [masked, places, shape!], outputs };
  });
  return values.length > program.values.length ? { ...program, values, ops } : program;
}
