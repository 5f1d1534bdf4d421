import type { Code } from '../bytecode/code.ts';
import type { Closure, Frame } from '../bytecode/frame.ts';
import type { AnyFunction } from '../language/itself.ts';

/** Runs a frame of one code from its pc to its return, or to where it is suspended: then the result is `Suspended`. */
export type Machine = (frame: Frame) => unknown;

/** Provides the machines that run the functions which code makes. */
export interface MachineFor {
  (code: Code): Machine;
  /** Returns makers of functions whose calls need no frame, where it can; undefined: they run by machines. */
  functionsFor?: ((code: Code) => FunctionMaker | undefined) | undefined;
}

export type FunctionMaker = (closure: Closure) => AnyFunction;
