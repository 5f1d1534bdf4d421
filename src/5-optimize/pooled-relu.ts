import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';

/**
 * The gradient of max-pooling a relu reads the pooled values instead of the relu's output, which is
 * larger and mostly kept for nothing else: reluGrad(maxPool2dGrad(dy)) = maxPool2dGrad(reluGrad(dy)).
 * Equal bit for bit: all windows that chose one place have its value, so that either all parts of its
 * gradient are taken or none.
 */
export function pooledRelu(program: Program): Program {
  const reads = readCounts(program);
  const values = [...program.values];
  const ops: ProgramOp[] = [...program.ops];
  /** The largest values and their places, by the value that was pooled. */
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

function readCounts({ ops, outputs }: Program): ReadonlyMap<ValueId, number> {
  const counts = new Map<ValueId, number>();
  const add = (id: ValueId) => counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const { inputs } of ops) inputs.forEach(add);
  outputs.forEach(add);
  return counts;
}
