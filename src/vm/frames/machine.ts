import type { Code } from '../bytecode/code.ts';
import type { Closure, Frame } from '../bytecode/frame.ts';
import type { AnyFunction } from '../language/return-override.ts';

/** Runs a frame from its pc to its return, or to a suspension, for which it returns `Suspended`. */
export type Machine = (frame: Frame) => unknown;

/** Provides machines for functions that code creates. */
export interface MachineFor {
  (code: Code): Machine;
  /** Returns makers of functions whose calls need no frame, if it can; undefined if they run on machines. */
  functionsFor?: ((code: Code) => FunctionMaker | undefined) | undefined;
}

export type FunctionMaker = (closure: Closure) => AnyFunction;
