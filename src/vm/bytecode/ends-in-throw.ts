import type { Code } from './code.ts';
import { successors, suspends } from './effects.ts';
import type { Pc } from './instructions.ts';

/**
 * How a frame that continues at this pc ends if no handler of its own catches an exception. `throws`: by an exception,
 * after a bounded number of instructions. `returns`: after a bounded number of instructions. `open`: it may repeat
 * instructions or be suspended.
 */
export function endFrom(code: Code, pc: Pc): 'throws' | 'returns' | 'open' {
  const reached = new Set([pc]);
  let returns = false;
  for (const at of reached) {
    const instruction = code.instructions[at];
    // The last instruction has been executed: the frame has returned.
    if (!instruction) return 'returns';
    if (suspends(instruction)) return 'open';
    returns ||= instruction.op === 'return';
    for (const next of successors(code, at)) {
      // Every loop has a jump back.
      if (next <= at) return 'open';
      reached.add(next);
    }
  }
  return returns ? 'returns' : 'throws';
}
