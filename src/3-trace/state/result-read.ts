import { liveBefore } from '../../vm/bytecode/liveness.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';

/** Returns whether the instruction's result is used. An unused result needs no guard. */
export function isResultRead({ closure, pc }: TraceFrame): boolean {
  const instruction = closure.code.instructions[pc]!;
  const after = liveBefore(closure.code)[pc + 1];
  return !('dst' in instruction) || !after || after.has(instruction.dst);
}
