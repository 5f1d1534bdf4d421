import type { Code } from '../bytecode/code.ts';
import { type Cell, type Frame, type Scope, uninitialized } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { templateObject } from '../bytecode/template-object.ts';
import { argumentsObject, parameterCell } from './arguments-object.ts';
import { classOf, functionOf, type Machine } from './function-of.ts';
import { innerClosure, interpret } from './interpret.ts';
import { intrinsics } from './intrinsics.ts';
import { abandonIterators, keyIterator } from './iterator-record.ts';
import { type MachineShape, machineText } from './machine-text.ts';
import { notCallable } from './native-errors.ts';
import * as semantics from './semantics.ts';
import { Suspended } from './suspended.ts';

export type { Machine } from './function-of.ts';

const machines = new WeakMap<Code, Machine>();

/**
 * The native machine of a code: generated once per pc that it is entered at. Where the page forbids
 * code generation, the interpreter, which does the same many times slower.
 */
export function machineFor(code: Code): Machine {
  let machine = machines.get(code);
  if (machine === undefined) {
    machine = canGenerate() ? generated(code) : (frame) => interpret(frame, machineFor);
    machines.set(code, machine);
  }
  return machine;
}

function generated(code: Code): Machine {
  let first: Machine | undefined; // calls enter at 0, and are many
  const others = new Map<Pc, Machine>();
  return (frame) => {
    const { pc } = frame;
    if (pc === 0) {
      first ??= compile(code, 0);
      return first(frame);
    }
    let machine = others.get(pc);
    if (machine === undefined) {
      machine = compile(code, pc);
      others.set(pc, machine);
    }
    return machine(frame);
  };
}

/** Runs a frame of any code: to its return, or to an `await`, where the result is `Suspended`. */
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

/** The machine that is entered at `entry`; `shape` is for tests. */
export function compile(code: Code, entry: Pc, shape?: MachineShape): Machine {
  const make = new Function('C', 'H', machineText(code, entry, shape));
  return make(code, machineHelpers) as Machine;
}

/** What generated code calls. */
const machineHelpers = {
  ...semantics,
  uninitialized,
  suspend: (value: unknown) => new Suspended(value),
  templateObject,
  keyIterator,
  notCallable,
  abandonIterators,
  newCell: (): Cell => ({ value: uninitialized }),
  regexp: (pattern: string, flags: string) => new RegExp(pattern, flags),
  typeofFree: (scope: Scope, name: string) =>
    scope.has(name) ? typeof scope.get(name) : 'undefined',
  argumentsObject,
  parameterCell,
  intrinsics,
  closure: (
    frame: Frame,
    index: number,
    cells: readonly Cell[],
    name?: PropertyKey,
    home?: object,
  ) => functionOf(innerClosure(frame, index, cells, home), machineFor, name),
  class: (
    frame: Frame,
    index: number,
    cells: readonly Cell[],
    parent: unknown,
    name?: PropertyKey,
  ) => classOf(innerClosure(frame, index, cells), machineFor, parent, name),
};
