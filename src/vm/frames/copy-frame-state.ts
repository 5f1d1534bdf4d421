import type { Frame } from '../bytecode/frame.ts';

/** Whoever drives a frame knows `to`: it goes on where `from`, another one of the same call, stands. */
export function copyFrameState(from: Frame, to: Frame): void {
  to.pc = from.pc;
  to.registers = from.registers;
}
