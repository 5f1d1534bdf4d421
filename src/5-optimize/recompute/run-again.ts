import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { ForwardFacts } from './forward-facts.ts';

/**
 * Returns an op of forward that runs a second time, on renamed copies of the same operands. It can't throw: the first
 * run would have thrown.
 */
export function runAgain(
  op: ProgramOp,
  inputs: readonly ValueId[],
  outputs: readonly ValueId[],
): ProgramOp {
  const again = op.op.mayRefuse ? { again: op.outputs[0]! } : null;
  return { ...op, inputs, outputs, recordsGrad: false, ...again };
}

/**
 * Returns the second result of an op from which another op recomputes the first: the statistics of a norm.
 * Undefined if there is none, if it is written later, or if the device has no kernel for that.
 */
export function secondResult(index: number, facts: ForwardFacts): ValueId | undefined {
  const { ops, values } = facts.program;
  const { op, outputs } = ops[index]!;
  const [first, second] = outputs;
  if (!op.givenOut1 || second === undefined || !facts.canRecompute(second)) return undefined;
  return values[first!]!.device.kind === 'gpu' ? undefined : second;
}

/** Returns the op that recomputes the first result of another one, given its second. */
export function runFromSecond(
  op: ProgramOp,
  [x, ...rest]: readonly ValueId[],
  second: ValueId,
  output: ValueId,
): ProgramOp {
  const byStats = { ...op, op: opNamed(op.op.givenOut1!) };
  return runAgain(byStats, [x!, second, ...rest], [output]);
}
