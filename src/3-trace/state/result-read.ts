import { liveBefore } from '../../vm/bytecode/liveness.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';

/** Whether somebody reads what the instruction answers: nothing is asked for without need. */
export function isResultRead({ closure, pc }: TraceFrame): boolean {
  const instruction = closure.code.instructions[pc]!;
  const after = liveBefore(closure.code)[pc + 1];
  return !('dst' in instruction) || !after || after.has(instruction.dst);
}
