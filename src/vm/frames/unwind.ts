import type { Frame } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { protectionAt } from '../bytecode/protection.ts';
import { abandonIterators } from '../language/iterator-record.ts';

/**
 * The instruction at `pc` threw: the frame continues at its handler, once the iterators that were opened
 * inside are closed. False: it has none, and all its iterators are closed.
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
 * A throw leaves frame number `left`, the frames under which wait for their calls: takes off the frames
 * down to the innermost that catches. False: none does; then the stack stays as it is.
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
