import type { Code } from '../bytecode/code.ts';
import type { Frame } from '../bytecode/frame.ts';
import { interpret } from './interpret.ts';

/** Runs a frame of the code from its pc to its return. */
export type Machine = (frame: Frame) => unknown;

export function machineFor(_code: Code): Machine {
  return (frame) => interpret(frame, executeFrame);
}

/** Runs a frame of any code. */
export function executeFrame(frame: Frame): unknown {
  return machineFor(frame.closure.code)(frame);
}
