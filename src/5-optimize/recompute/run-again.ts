import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';

/** An op of forward that runs a second time, on other names of the same operands. What it may throw, it has thrown before. */
export function runAgain(
  op: ProgramOp,
  inputs: readonly ValueId[],
  outputs: readonly ValueId[],
): ProgramOp {
  const again = op.op.mayRefuse ? { again: op.outputs[0]! } : null;
  return { ...op, inputs, outputs, recordsGrad: false, ...again };
}
