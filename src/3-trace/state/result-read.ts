import { liveBefore } from '../../vm/bytecode/liveness.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';

/** Whether the result of the instruction is used: without a use no guard is needed for it. */
export function isResultRead({ closure, pc }: TraceFrame): boolean {
  const instruction = closure.code.instructions[pc]!;
  const after = liveBefore(closure.code)[pc + 1];
  return !('dst' in instruction) || !after || after.has(instruction.dst);
}
