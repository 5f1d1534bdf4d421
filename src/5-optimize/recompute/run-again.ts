import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';

/**
 * Returns an op of forward that runs a second time, on renamed copies of the same operands. Whatever it may throw,
 * it has thrown before.
 */
export function runAgain(
  op: ProgramOp,
  inputs: readonly ValueId[],
  outputs: readonly ValueId[],
): ProgramOp {
  const again = op.op.mayRefuse ? { again: op.outputs[0]! } : null;
  return { ...op, inputs, outputs, recordsGrad: false, ...again };
}
