import type { Device } from '../../../runtime/device/device.ts';
import type { Source } from '../../guards/source.ts';
import { guardOf } from '../../traces/frame-guard.ts';
import type { Closure, Frame } from '../../vm/bytecode/frame.ts';
import type { Pc, Reg } from '../../vm/bytecode/instructions.ts';
import type { ClassVariable } from './function-variables.ts';
import type { IteratorRecordVariable } from './iterator-variables.ts';
import type { CellReference, NewArrayVariable, Variable } from './variable.ts';

/** A stack frame of the traced code. */
export interface TraceFrame {
  readonly closure: Omit<Closure, 'cells'>;
  readonly cells: readonly CellReference[];
  /** The index among the frames that the trace was entered with; null for an inlined call. */
  readonly entry: number | null;
  readonly thisVariable: Variable;
  readonly args: readonly Variable[];
  /** The arguments after `args`: an array of any length. */
  rest?: NewArrayVariable;
  readonly registers: (Variable | undefined)[];
  readonly returnTo: Reg | undefined;
  /** The home object of the running method, if it was created in the trace. */
  readonly home?: Variable | undefined;
  /** The class whose constructor is running, if it was created in the trace. */
  readonly made?: ClassVariable | undefined;
  /** `new.target` of a call with `new`. */
  readonly newTarget?: Variable | undefined;
  /** The grad mode set by an enclosing `noGrad` or `enableGrad`; undefined for the mode at entry. */
  readonly gradMode: boolean | undefined;
  /** The device (or null) of an enclosing `deviceGuard`; undefined for the guard at entry. */
  readonly guard: Device | null | undefined;
  /** The iteration that a generator's `yield*` delegates to, and the value sent to it. */
  delegate: { readonly iteration: IteratorRecordVariable; readonly sent: Variable } | null;
  pc: Pc;
  /** The previous instruction; null at the start. */
  last: Pc | null;
}

/** Returns all arguments, one by one. */
export const argumentsOf = ({ args, rest }: TraceFrame): readonly Variable[] =>
  rest ? [...args, ...rest.elements] : args;

/** Returns the frame that a trace is entered with; its values are read through their sources. */
export function enteredFrame(
  frame: Frame,
  entry: number,
  read: (source: Source, value: unknown) => Variable,
): TraceFrame {
  const { closure, pc, registers, returnTo, gradMode } = frame;
  const source = (reg: number): Source => ({ kind: 'register', frame: entry, reg: reg as Reg });
  return {
    closure,
    cells: closure.cells.map((value, index) => ({
      kind: 'object',
      value,
      source: { kind: 'outerCell', frame: entry, index },
    })),
    entry,
    thisVariable: read({ kind: 'this', frame: entry }, frame.thisValue),
    ...(frame.newTarget !== undefined && {
      newTarget: read({ kind: 'newTarget', frame: entry }, frame.newTarget),
    }),
    args: frame.args.map((value, index) => read({ kind: 'argument', frame: entry, index }, value)),
    registers: pc === 0 ? new Array(registers.length) : registers.map((v, r) => read(source(r), v)),
    returnTo,
    gradMode,
    guard: guardOf(frame),
    pc,
    delegate: null,
    last: null,
  };
}

export type Callee = Pick<
  TraceFrame,
  'closure' | 'cells' | 'thisVariable' | 'args' | 'home' | 'made' | 'newTarget'
>;

/**
 * Returns the frame of an inlined call, at the callee's start. Fields are listed one by one: spreading two objects
 * takes microseconds, and a step makes thousands of calls.
 */
export const calledFrame = (
  callee: Callee,
  { returnTo, gradMode, guard }: Pick<TraceFrame, 'returnTo' | 'gradMode' | 'guard'>,
): TraceFrame => ({
  closure: callee.closure,
  cells: callee.cells,
  entry: null,
  thisVariable: callee.thisVariable,
  args: callee.args,
  registers: new Array(callee.closure.code.registerCount),
  returnTo,
  home: callee.home,
  made: callee.made,
  newTarget: callee.newTarget,
  gradMode,
  guard,
  pc: 0,
  delegate: null,
  last: null,
});
