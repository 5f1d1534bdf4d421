import type { Backend } from './backend.ts';
import type { DynamicCall, GivenOperand } from './dynamic-call.ts';
import type { HigherOrderGradients } from './higher-order-gradients.ts';
import type { ProgramOp, ValueId, ValueTable } from './program.ts';

/** One op of a planned program, with what happens to memory around it. */
export interface Step {
  readonly op: ProgramOp;
  /**
   * Per output: the input whose memory it takes over instead of new memory, or null. That input is
   * dead after this op (it is in `frees`), and the op reads and writes element by element.
   */
  readonly reuses: readonly (ValueId | null)[];
  /** Values whose last use this is: they leave the scope after the op. */
  readonly frees: readonly ValueId[];
  /** Per output: where it lies in the arena; null: it has a block of its own, or takes one over. */
  readonly places?: readonly (number | null)[];
  /** Of a control op: its regions, planned. A forward op and the op that undoes it share them. */
  readonly regions?: readonly PlannedSubgraph[];
  /** Of a call whose shapes only the run knows. */
  readonly call?: PlannedCall;
}

/** A call whose shapes only the run knows: planned for each set of shapes when a run first brings it. */
export interface PlannedCall {
  readonly call: DynamicCall;
  /** Throws FailedCheck where the call refuses what is given. */
  at(given: readonly GivenOperand[]): PlannedSubgraph;
}

/** Bytes that a program allocates itself, alignment included; its inputs are not counted. */
export interface PredictedMemory {
  /**
   * Most bytes alive at once during the run, above what was allocated when it began. With control ops: on
   * the worst path, where loops that keep something for backward take one iteration.
   */
  readonly peakBytes: number;
  /**
   * No order of the same ops has a lower peak; ops inside of control ops stay in theirs. Where fusing ops brings the
   * peak below that of single ops in any order, the peak itself.
   */
  readonly lowerBoundBytes: number;
  /** Bytes of saved values that only the scope keeps alive between forward and backward. */
  readonly savedBytes: number;
  /** Part of the peak: copies of what is written, for a run that is given up after it. */
  readonly copiedBytes: number;
  /** Bytes of outputs that are handed to the caller and share no memory with inputs. */
  readonly outputBytes: number;
}

/** A program in its order of execution. Every value that enters the scope leaves it at one known place. */
export interface Plan {
  readonly inputs: readonly ValueId[];
  readonly steps: readonly Step[];
  readonly outputs: readonly ValueId[];
  /** Inputs that no op, output or saved list reads: they never enter the scope. */
  readonly unusedInputs: readonly ValueId[];
  /** Values that leave the scope after the outputs were handed out. */
  readonly freesAtEnd: readonly ValueId[];
  /** Bytes of the block that values lie in which live and die in one run; 0: there is none. */
  readonly arenaBytes: number;
  /** The ops are not in the order of the source. */
  readonly reordered: boolean;
  readonly predicted: PredictedMemory;
}

/** What backward needs from forward, value by value. */
export interface SavedValues {
  /** Read by backward: stay in the scope with their data. */
  readonly withData: readonly ValueId[];
  /** Read for their shape only: the grad node keeps the meta, the holder is moved out. */
  readonly noNeedBuffer: readonly ValueId[];
}

/** One subgraph, compiled: what run_program runs. */
export interface PlannedSubgraph {
  /** What runs it and its backward; left out: the kernels of its device. */
  readonly backend?: Backend;
  readonly values: ValueTable;
  readonly forward: Plan;
  readonly backward: BackwardPart | null;
  /** Inputs of which backward keeps copies, or copies of views. */
  readonly compacted?: readonly CompactedInput[];
}

/** An input that backward doesn't keep itself, since its memory is larger than what backward reads. */
export interface CompactedInput {
  readonly number: number;
  /** All of it is copied, without gaps, before the run. */
  readonly entersAsCopy: boolean;
  /** The saved values that are there instead. */
  readonly saved: readonly ValueId[];
}

export interface BackwardPart {
  /**
   * Frees what forward saved at its last use. Predicted is a backward that all outputs bring a gradient to;
   * with fewer it does less.
   */
  readonly plan: Plan;
  /** Leaves what forward saved untouched, for `backward(undefined, { retainGraph: true })`. */
  readonly retainingPlan: Plan;
  readonly saved: SavedValues;
  /** Per forward output, and of a region per operand: the backward input, as in JointProgram. */
  readonly gradOutputs: readonly (ValueId | null)[];
  /** Forward outputs that are leaves which the program has made. */
  readonly leafOutputs: readonly number[];
  /** Per forward input, then per leaf: the backward output with its gradient, or null. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** Per such gradient: where it has several parts, the values of their sum, part after part. */
  readonly sums: readonly (readonly ValueId[])[];
  /** For gradients of gradients; left out where the compiler is not there to ask. */
  readonly again?: HigherOrderGradients;
}
