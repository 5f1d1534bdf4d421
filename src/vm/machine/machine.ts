import type { Code } from '../bytecode/code.ts';
import { type Cell, type Closure, type Frame, uninitialized } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { templateObject } from '../bytecode/template-object.ts';
import { classOf, functionOf } from '../frames/function-of.ts';
import { scriptText } from '../frames/generated-scripts.ts';
import { innerClosure } from '../frames/inner-closure.ts';
import type { FunctionMaker, Machine, MachineFor } from '../frames/machine.ts';
import { stopped } from '../frames/stopped.ts';
import { Suspended } from '../frames/suspended.ts';
import { interpreterOf } from '../interpreter/interpret.ts';
import { intrinsics } from '../interpreter/intrinsics.ts';
import * as semantics from '../interpreter/semantics.ts';
import { argumentsObject, parameterCell } from '../language/arguments-object.ts';
import { abandonIterators, keyIterator } from '../language/iterator-record.ts';
import { notCallable } from '../language/native-errors.ts';
import { isNumberCall } from '../language/number-calls.ts';
import { apply, weakGet, weakSet } from '../language/primordials.ts';
import { functionText, runsWithoutFrame } from './function-text.ts';
import { type MachineShape, machineText } from './machine-text.ts';
import { FunctionConstructor, mayGenerate } from './may-generate.ts';
import { resumePoints } from './resume-pcs.ts';
import { stopsEverywhere } from './stops.ts';

export type { Machine } from '../frames/machine.ts';

/** Selects the executor: generated code, or the interpreter if a page forbids code generation. */
export interface Execution {
  readonly executor?: 'machine' | 'interpreter';
  /** Saves and resumes frames at every instruction. */
  readonly suspendEverywhere?: boolean;
}

/** Returns the native machines of codes, each of which is generated once. */
export function machines(execution: Execution = {}): MachineFor {
  const known = new WeakMap<Code, Machine>();
  const machineFor: MachineFor = (code) => {
    let machine = weakGet(known, code);
    if (machine === undefined) {
      machine = makeMachine(code, execution, machineFor);
      weakSet(known, code, machine);
    }
    return machine;
  };
  const generatesFunctions = execution.executor !== 'interpreter' && !execution.suspendEverywhere;
  machineFor.functionsFor = generatesFunctions ? functionMakers(machineFor) : undefined;
  return machineFor;
}

/** The machine of a code. If the page forbids code generation, it is the interpreter, which is many times slower. */
export const machineFor = machines();

function makeMachine(
  code: Code,
  { executor, suspendEverywhere }: Execution,
  machineFor: MachineFor,
): Machine {
  const interprets = executor === 'interpreter' || !mayGenerate();
  if (suspendEverywhere) return stopsEverywhere(code, machineFor, interprets ? undefined : compile);
  return interprets ? interpreterOf(code, machineFor) : generated(code, machineFor);
}

/** Returns makers of ordinary functions, for codes whose frames are never saved. */
function functionMakers(machineFor: MachineFor): (code: Code) => FunctionMaker | undefined {
  const known = new WeakMap<Code, FunctionMaker>();
  return (code) => {
    if (!runsWithoutFrame(code) || !mayGenerate()) return undefined;
    let make = weakGet(known, code);
    if (make === undefined) {
      const text = scriptText(code, true, functionText);
      const program = new FunctionConstructor('C', 'H', text);
      make = program(code, helpersFor(machineFor)) as FunctionMaker;
      weakSet(known, code, make);
    }
    return make;
  };
}

function generated(code: Code, machineFor: MachineFor): Machine {
  // One machine for the start and all points where the code continues after a suspension.
  const entries = resumePoints(code);
  const isEntry: Record<Pc, true> = Object.create(null);
  for (let i = 0; i < entries.length; i++) isEntry[entries[i]!] = true;
  let first: Machine | undefined; // the most frequent entry: calls enter at 0
  const others: Record<Pc, Machine> = Object.create(null);
  return (frame) => {
    const { pc } = frame;
    if (isEntry[pc]) {
      first ??= compile(code, entries, undefined, machineFor);
      return first(frame);
    }
    others[pc] ??= compile(code, [pc], undefined, machineFor);
    return others[pc](frame);
  };
}

/** Compiles the code from `entry` up to each of `stops`; undefined if a page forbids code generation. */
export function compilePart(code: Code, entry: Pc, stops: ReadonlySet<Pc>): Machine | undefined {
  return mayGenerate() ? compile(code, [entry], undefined, machineFor, stops) : undefined;
}

/** Runs a frame of any code to its return, or to a suspension, for which it returns `Suspended`. */
export function executeFrame(frame: Frame): unknown {
  return machineFor(frame.closure.code)(frame);
}

/** Compiles a machine that can be entered at each of `entries`. It returns `stopped` before each of `stops`. */
export function compile(
  code: Code,
  entries: readonly Pc[],
  shape?: MachineShape,
  machineForInner: MachineFor = machineFor,
  stops?: ReadonlySet<Pc>,
): Machine {
  const text = scriptText(code, false, (own, marksPcs) =>
    machineText(own, entries, shape, marksPcs, stops),
  );
  const make = new FunctionConstructor('C', 'H', text);
  return make(code, helpersFor(machineForInner)) as Machine;
}

type Helpers = ReturnType<typeof makeHelpers>;
const helpers = new WeakMap<MachineFor, Helpers>();

function helpersFor(machineFor: MachineFor): Helpers {
  let known = weakGet(helpers, machineFor);
  if (!known) {
    known = makeHelpers(machineFor);
    weakSet(helpers, machineFor, known);
  }
  return known;
}

/** Functions that generated code calls. `machineFor` runs the functions that it creates. */
const makeHelpers = (machineFor: MachineFor) => ({
  ...semantics,
  apply,
  frame: (
    closure: Closure,
    thisValue: unknown,
    args: readonly unknown[],
    newTarget: unknown,
  ): Frame => ({ closure, pc: 0, registers: [], thisValue, args, newTarget, returnTo: undefined }),
  uninitialized,
  stopped,
  suspend: (value: unknown) => new Suspended(value),
  templateObject,
  keyIterator,
  notCallable,
  abandonIterators,
  argumentsObject,
  parameterCell,
  intrinsics,
  isNumberCall,
  newCell: (): Cell => ({ value: uninitialized }),
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
});
