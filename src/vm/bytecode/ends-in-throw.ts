import type { Code } from './code.ts';
import { successors, suspends } from './effects.ts';
import type { Pc } from './instructions.ts';

/**
 * How a frame that continues at this pc ends if no handler of its own catches an exception. `throws`: by an exception,
 * after a bounded number of instructions. `returns`: after a bounded number of instructions. `open`: it may repeat
 * instructions or be suspended.
 */
export function endFrom(code: Code, pc: Pc): 'throws' | 'returns' | 'open' {
  const done = new Set<Pc>();
  const underWay = new Set<Pc>();
  let returns = false;
  /** Returns whether control may come back to an instruction under way. */
  const isOpen = (at: Pc): boolean => {
    if (underWay.has(at)) return true;
    if (done.has(at)) return false;
    const instruction = code.instructions[at]!;
    if (suspends(instruction)) return true;
    returns ||= instruction.op === 'return';
    underWay.add(at);
    if (successors(code, at).some(isOpen)) return true;
    underWay.delete(at);
    done.add(at);
    return false;
  };
  if (isOpen(pc)) return 'open';
  return returns ? 'returns' : 'throws';
}
