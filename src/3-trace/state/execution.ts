import { InvariantError } from '../../../runtime/errors/invariant.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import type { Program } from '../../../runtime/program/program.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { PlannedSite } from '../../regions/site-call.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import type { Loop } from '../../vm/bytecode/structure.ts';
import type { PathEnd } from '../control-flow/plans/path.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { Variable } from '../variables/variable.ts';
import type { DeferredNumber } from './tape.ts';

/** Continues a trace from inside an instruction. */
export interface Execution {
  /** Traces a call to its return, within an instruction (`invoke.ts`). */
  callInside(
    callee: Variable,
    receiver: Variable,
    args: readonly Variable[],
    gradMode?: boolean,
  ): Variable;
  /**
   * Begins a call within an instruction, and traces it to its return. `begin` returns the result, or undefined if
   * it has pushed a frame.
   */
  toReturn(begin: () => Variable | undefined): Variable;
  /** Traces the frame at the given depth until it returns or reaches one of the stops. */
  runPath(depth: number, stops: ReadonlySet<Pc>): PathEnd;
  /** Like `runPath`, but the frame's current instruction is not a stop. */
  runFrom(depth: number, stops: ReadonlySet<Pc>): PathEnd;
  /** Traces one iteration of a loop, from its header or from after its head. */
  runLoopBody(frame: TraceFrame, loop: Loop, from: Pc): PathEnd;
  /** Traces a loop from its header to the first decision that may leave it. */
  runLoopHead(frame: TraceFrame, loop: Loop): PathEnd;
  /** Appends an op with regions; returns its results. */
  appendControl(op: OpRecord, inputs: readonly Tensor[], programs: readonly Program[]): Tensor[];
  /**
   * Appends a call with data-dependent shapes; returns its results. `again`: plans it for operands of other sizes.
   * `counts`: for each list, its length if sizes determine it, else null.
   */
  appendResizable(
    planned: PlannedSite,
    again: (inputs: readonly Tensor[], counts: readonly (number | null)[]) => PlannedSite,
    inputs: readonly Tensor[],
    counts: readonly (DeferredNumber | null)[],
  ): Tensor[];
  /** Appends a call with data-dependent shapes, for these sizes only; returns its results. */
  appendCall(planned: PlannedSite, inputs: readonly Tensor[]): Tensor[];
}

const refuse = (): never => {
  throw new InvariantError('the trace has not begun');
};

export const notBegun: Execution = {
  callInside: refuse,
  toReturn: refuse,
  runPath: refuse,
  runFrom: refuse,
  runLoopBody: refuse,
  runLoopHead: refuse,
  appendControl: refuse,
  appendCall: refuse,
  appendResizable: refuse,
};
