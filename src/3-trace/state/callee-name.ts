import { calleeText } from '../../vm/bytecode/user-text.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { FunctionVariable } from '../variables/variable.ts';

/** Returns the name of the function that the frame's current instruction calls, as the user wrote it. */
export function nameAt({ closure, pc }: TraceFrame, callee?: FunctionVariable): string {
  return calleeText(closure.code, pc) ?? (callee?.value.name || 'an unnamed function');
}
