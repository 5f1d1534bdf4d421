import type { Frame } from '../bytecode/frame.ts';

/** The driver of a frame knows `to`: it continues where `from`, another frame of the same call, stands. */
export function copyFrameState(from: Frame, to: Frame): void {
  to.pc = from.pc;
  to.registers = from.registers;
}
