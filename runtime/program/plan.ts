import type { Backend } from './backend.ts';
import type { DynamicCall, GivenOperand } from './dynamic-call.ts';
import type { HigherOrderGradients } from './higher-order-gradients.ts';
import type { Arrival, ProgramOp, ValueId, ValueTable } from './program.ts';

/** One op of a planned program, with its effects on memory. */
export interface Step {
  readonly op: ProgramOp;
  /**
   * The input whose memory each output reuses, or null. That input is dead after this op (it is in `frees`), and the
   * kernel may overwrite it.
   */
  readonly reuses: readonly (ValueId | null)[];
  /** Values with their last use here: they leave the scope after the op. */
  readonly frees: readonly ValueId[];
  /** The offset of each output in the arena; null if it has its own block or reuses one. */
  readonly places?: readonly (number | null)[];
  /** For a control op: its planned regions, which its backward op shares. */
  readonly regions?: readonly PlannedSubgraph[];
  /** For a call with data-dependent shapes. */
  readonly call?: PlannedCall;
}

/** A call with data-dependent shapes: planned once per set of shapes, at the first run with it. */
export interface PlannedCall {
  readonly call: DynamicCall;
  /** Throws FailedCheck if the call rejects its arguments. */
  at(given: readonly GivenOperand[]): PlannedSubgraph;
}

/** Bytes that a program allocates, including alignment, without its inputs. */
export interface PredictedMemory {
  /**
   * The peak of the run, above what was allocated when it began. With control ops: on
   * the worst path, where loops that save values for backward make one iteration.
   */
  readonly peakBytes: number;
  /**
   * A lower bound: no order of the same ops has a lower peak, with ops inside of control ops in their order. If fusion brings the
   * peak below that of single ops in any order, the peak itself.
   */
  readonly lowerBoundBytes: number;
  /** Bytes of saved values that only the scope owns between forward and backward. */
  readonly savedBytes: number;
  /** Part of the peak: copies of written memory, to roll back a run that fails. */
  readonly copiedBytes: number;
  /** Bytes of outputs that are returned to the caller and share no memory with inputs. */
  readonly outputBytes: number;
}

/** A program in execution order. Every value that enters the scope leaves it at one known step. */
export interface Plan {
  readonly inputs: readonly ValueId[];
  readonly steps: readonly Step[];
  readonly outputs: readonly ValueId[];
  /** Inputs that no op, output or saved list reads: they never enter the scope. */
  readonly unusedInputs: readonly ValueId[];
  /** Values that leave the scope after the outputs have been returned. */
  readonly freesAtEnd: readonly ValueId[];
  /** Bytes of the arena, for values that live and die within a run; 0: there is none. */
  readonly arenaBytes: number;
  /** The ops don't run as they were traced: no input that is written may show the memory of another one. */
  readonly reordered: boolean;
  readonly predicted: PredictedMemory;
}

/** The values that backward needs from forward. */
export interface SavedValues {
  /** Read by backward: stay in the scope with their data. */
  readonly withData: readonly ValueId[];
  /** Only their shape is read: the grad node keeps the meta, and the holder is moved out. */
  readonly noNeedBuffer: readonly ValueId[];
}

/** A compiled subgraph, which run_program executes. */
export interface PlannedSubgraph {
  /** The backend of it and its backward; by default the kernels of its device. */
  readonly backend?: Backend;
  readonly values: ValueTable;
  readonly forward: Plan;
  readonly backward: BackwardPart | null;
  /** Inputs of which copies, or copies of views, are saved for backward. */
  readonly compacted?: readonly CompactedInput[];
}

/** An input that is not saved itself, since its memory is larger than what backward reads. */
export interface CompactedInput {
  readonly number: number;
  /** All of it is copied contiguously before the run. */
  readonly entersAsCopy: boolean;
  /** The values that are saved instead. */
  readonly saved: readonly ValueId[];
}

export interface BackwardPart {
  /**
   * Frees saved values after their last use. The prediction is for a backward with gradients of all outputs;
   * with fewer it allocates less.
   */
  readonly plan: Plan;
  /** Keeps the saved values, for `backward(undefined, { retainGraph: true })`. */
  readonly retainingPlan: Plan;
  readonly saved: SavedValues;
  /** The backward input with the gradient of each forward output, and in a region of each operand, as in JointProgram. */
  readonly gradOutputs: readonly (ValueId | null)[];
  /** Forward outputs that are leaves created by the program. */
  readonly leafOutputs: readonly number[];
  /** The backward output with the gradient of each forward input, then of each leaf, or null. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** For each such gradient with several contributions, its partial sums in order. */
  readonly sums: readonly (readonly ValueId[])[];
  /** Arrivals of gradients as in JointProgram: hooks of leaves are called in this order. */
  readonly arrivals: readonly Arrival[];
  /** For higher-order gradients; undefined without a compiler. */
  readonly again?: HigherOrderGradients;
}
