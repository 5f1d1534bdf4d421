import type { Frame } from '../bytecode/frame.ts';

/**
 * Copies the state of a frame. A driver refers to `to`, which continues where `from`, another frame of the same
 * call, stopped.
 */
export function copyFrameState(from: Frame, to: Frame): void {
  to.pc = from.pc;
  to.registers = from.registers;
}
