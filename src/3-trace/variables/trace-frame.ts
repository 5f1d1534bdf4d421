import type { Device } from '../../../runtime/device/device.ts';
import type { Source } from '../../guards/source.ts';
import { guardOf } from '../../traces/frame-guard.ts';
import type { Closure, Frame } from '../../vm/bytecode/frame.ts';
import type { Pc, Reg } from '../../vm/bytecode/instructions.ts';
import type { ClassVariable } from './function-variables.ts';
import type { IteratorRecordVariable } from './iterator-variables.ts';
import type { CellReference, Variable } from './variable.ts';

/** One activation as the tracer follows it. */
export interface TraceFrame {
  readonly closure: Omit<Closure, 'cells'>;
  readonly cells: readonly CellReference[];
  /** Number among the frames the trace was entered with; null for an inlined call. */
  readonly entry: number | null;
  readonly thisVariable: Variable;
  readonly args: readonly Variable[];
  readonly registers: (Variable | undefined)[];
  readonly returnTo: Reg | undefined;
  /** The object that the running method is defined on, where the trace has made that. */
  readonly home?: Variable | undefined;
  /** The class whose constructor runs, where the trace has made it. */
  readonly made?: ClassVariable;
  /** `new.target`, in a call by `new`. */
  readonly newTarget?: Variable;
  /** Inside `noGrad` or `enableGrad`; undefined: what held at the entry. */
  readonly gradMode: boolean | undefined;
  /** Inside `deviceGuard`: its device, or null; undefined: what held at the entry. */
  readonly guard: Device | null | undefined;
  /** The iterator whose values a generator at a `yield*` yields, and what it is sent. */
  delegate?: { readonly iteration: IteratorRecordVariable; readonly sent: Variable } | null;
  pc: Pc;
  /** The instruction before; null at the start. */
  last: Pc | null;
}

/** The frame that a trace is entered with, its values by their places. */
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
    last: null,
  };
}
