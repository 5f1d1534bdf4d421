import { liveBefore } from '../../vm/bytecode/liveness.ts';
import { calleeText } from '../../vm/bytecode/user-text.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { FunctionVariable } from '../variables/variable.ts';

/** Returns the name of the function that the frame's current instruction calls, as the user wrote it. */
export function nameAt({ closure, pc }: TraceFrame, callee?: FunctionVariable): string {
  return calleeText(closure.code, pc) ?? (callee?.value.name || 'an unnamed function');
}

/** Returns whether the result of the frame's current instruction is used. An unused result needs no guard. */
export function isResultRead({ closure, pc }: TraceFrame): boolean {
  const instruction = closure.code.instructions[pc]!;
  const after = liveBefore(closure.code)[pc + 1];
  return !('dst' in instruction) || !after || after.has(instruction.dst);
}
