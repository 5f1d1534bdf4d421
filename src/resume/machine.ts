import type { Code } from '../bytecode/code.ts';
import { type Cell, type Frame, type Scope, uninitialized } from '../bytecode/frame.ts';
import { functionOf } from './function-of.ts';
import { innerClosure, interpret } from './interpret.ts';
import { abandonIterators } from './iterator-record.ts';
import { machineText } from './machine-text.ts';
import { notCallable } from './native-errors.ts';
import * as semantics from './semantics.ts';

/** Runs a frame of the code from its pc to its return. */
export type Machine = (frame: Frame) => unknown;

const machines = new WeakMap<Code, Machine>();

/**
 * The native state machine of a code, generated once. Where the page forbids code generation, the
 * interpreter, which does the same many times slower.
 */
export function machineFor(code: Code): Machine {
  let machine = machines.get(code);
  if (machine === undefined) {
    machine = canGenerate() ? compile(code) : (frame) => interpret(frame, executeFrame);
    machines.set(code, machine);
  }
  return machine;
}

/** Runs a frame of any code. */
export function executeFrame(frame: Frame): unknown {
  return machineFor(frame.closure.code)(frame);
}

let generates: boolean | undefined;

function canGenerate(): boolean {
  if (generates === undefined) {
    try {
      new Function('');
      generates = true;
    } catch {
      generates = false; // a content security policy without unsafe-eval
    }
  }
  return generates;
}

function compile(code: Code): Machine {
  return new Function('C', 'H', machineText(code))(code, machineHelpers) as Machine;
}

/** What generated code calls. */
const machineHelpers = {
  ...semantics,
  uninitialized,
  notCallable,
  abandonIterators,
  newCell: (): Cell => ({ value: uninitialized }),
  regexp: (pattern: string, flags: string) => new RegExp(pattern, flags),
  typeofFree: (scope: Scope, name: string) =>
    scope.has(name) ? typeof scope.get(name) : 'undefined',
  closure: (frame: Frame, index: number, cells: readonly Cell[], name?: PropertyKey) =>
    functionOf(innerClosure(frame, index, cells), executeFrame, name),
};
