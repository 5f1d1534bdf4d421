import type { Frame } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { protectionAt } from '../bytecode/protection.ts';
import { abandonIterators } from '../language/iterator-record.ts';

/**
 * Handles an exception of the instruction at `pc`: closes the iterators that were opened inside and continues at
 * the handler. Returns false if there is no handler; all of the frame's iterators are then closed.
 */
export function catchIn(frame: Frame, pc: Pc, error: unknown): boolean {
  const region = protectionAt(frame.closure.code, pc);
  if (!region) {
    abandonIterators(frame.registers);
    return false;
  }
  abandonIterators(frame.registers, region.error + 1);
  frame.registers[region.error] = error;
  frame.pc = region.target;
  return true;
}

/**
 * Handles an exception that leaves frame number `left`; the frames below it wait for their calls: pops frames down to
 * the innermost one that catches. Returns false, and leaves the stack unchanged, if none does.
 */
export function unwindTo(
  frames: Frame[],
  left: number,
  error: unknown,
  onUnwind?: (frame: Frame) => void,
): boolean {
  for (let depth = left - 1; depth >= 0; depth--) {
    const frame = frames[depth]!;
    if (!catchIn(frame, frame.pc - 1, error)) continue;
    while (frames.length > depth + 1) {
      const gone = frames.pop()!;
      onUnwind?.(gone);
    }
    return true;
  }
  return false;
}
