import type { Backend } from './backend.ts';
import type { DynamicCall, GivenOperand } from './dynamic-call.ts';
import type { HigherOrderGradients } from './higher-order-gradients.ts';
import type { GradientContribution, ProgramOp, ValueId, ValueTable } from './program.ts';

/** One op of a planned program with its effects on memory. */
export interface Step {
  readonly op: ProgramOp;
  /**
   * The input whose memory each output reuses, or null. The input dies in this op (it is in `frees`), and the
   * kernel may overwrite it.
   */
  readonly reuses: readonly (ValueId | null)[];
  /** Values whose last use is here: they leave the scope after the op. */
  readonly frees: readonly ValueId[];
  /** The arena offset of each output; null if it has its own block or reuses one. */
  readonly places?: readonly (number | null)[];
  /** The planned regions of a control op, which its backward op shares. */
  readonly regions?: readonly PlannedSubgraph[];
  /** Set for a call with data-dependent shapes. */
  readonly call?: PlannedCall;
}

/** A call with data-dependent shapes, planned once per set of shapes, on first use. */
export interface PlannedCall {
  readonly call: DynamicCall;
  /** Returns the plan for the given operands. Throws FailedCheck if the call rejects its arguments. */
  at(operands: readonly GivenOperand[]): PlannedSubgraph;
}

/** Whether the steps have control ops (branches, loops, lists, …), on whose decisions a run's memory may depend. */
export const hasControl = (steps: readonly Step[]): boolean =>
  steps.some(({ op }) => op.op.kernel.kind === 'control');

/**
 * Why a run may need more bytes than predicted:
 *
 * - `paths`: there are too many paths through branches and loops to simulate all of them.
 * - `iterations`: a loop retains memory of each iteration, for backward or in a list, and was simulated for a few
 *   iterations only.
 * - `shapes`: the shapes of a call are data-dependent, and were simulated as traced.
 */
export const peakLimits = ['paths', 'iterations', 'shapes'] as const;
export type PeakLimit = (typeof peakLimits)[number];

/** Bytes that a program allocates, including alignment, excluding its inputs. */
export interface PredictedMemory {
  /**
   * The peak of the run, above what was allocated at its start. With control ops, the peak of the worst path; loops
   * that save values for backward count with one iteration.
   */
  readonly peakBytes: number;
  /**
   * Why a run may need more than `peakBytes`; empty if none does. Undefined in plans with branches or loops from files
   * of versions that didn't save it.
   */
  readonly mayExceed?: readonly PeakLimit[];
  /**
   * A lower bound on the peak of any order of the same ops, with regions in their order. The peak itself if fusion
   * makes it smaller than that.
   */
  readonly lowerBoundBytes: number;
  /** Bytes of saved values that only the scope owns between forward and backward. */
  readonly savedBytes: number;
  /** Bytes of the peak that are copies of memory the run overwrites, for rolling it back. */
  readonly copiedBytes: number;
  /** Bytes of outputs returned to the caller that share no memory with inputs. */
  readonly outputBytes: number;
}

/** A program in execution order. Every value that enters the scope leaves it at a known step. */
export interface Plan {
  readonly inputs: readonly ValueId[];
  readonly steps: readonly Step[];
  readonly outputs: readonly ValueId[];
  /** Inputs that no op, output or saved list reads; they never enter the scope. */
  readonly unusedInputs: readonly ValueId[];
  /** Values that leave the scope after the outputs have been returned. */
  readonly freesAtEnd: readonly ValueId[];
  /** Bytes of the arena, which contains values that live and die within a run; 0 without an arena. */
  readonly arenaBytes: number;
  /** Whether the ops don't run in traced order. Then no written input may share memory with another input. */
  readonly reordered: boolean;
  readonly predicted: PredictedMemory;
}

/** The forward values that backward needs. */
export interface SavedValues {
  /** Values whose data backward reads: they stay in the scope. */
  readonly withData: readonly ValueId[];
  /** Values whose shape alone is read: the grad node keeps the meta, and the holder leaves the scope. */
  readonly noNeedBuffer: readonly ValueId[];
}

/** A compiled subgraph, which run_program executes. */
export interface PlannedSubgraph {
  /** The backend of the subgraph and its backward; by default the device's kernels. */
  readonly backend?: Backend;
  readonly values: ValueTable;
  readonly forward: Plan;
  readonly backward: BackwardPart | null;
  /** Inputs that are saved for backward as compact copies or copies of views. */
  readonly compacted?: readonly CompactedInput[];
}

/** An input that is not saved itself, because its memory is larger than what backward reads. */
export interface CompactedInput {
  readonly number: number;
  /** Whether the whole input is copied contiguously before the run. */
  readonly entersAsCopy: boolean;
  /** The values that are saved instead. */
  readonly saved: readonly ValueId[];
}

export interface BackwardPart {
  /**
   * Frees saved values after their last use. The prediction assumes gradients for all outputs; with fewer, backward
   * allocates less.
   */
  readonly plan: Plan;
  /** Keeps the saved values, for `backward({ retainGraph: true })`. */
  readonly retainingPlan: Plan;
  readonly saved: SavedValues;
  /** The backward input with the gradient of each forward output and, in a region, operand; see JointProgram. */
  readonly gradOutputs: readonly (ValueId | null)[];
  /** Forward outputs that are leaves created by the program. */
  readonly leafOutputs: readonly number[];
  /** The backward output with the gradient of each forward input, then of each leaf, or null. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** The partial sums, in order, of each such gradient with several contributions. */
  readonly sums: readonly (readonly ValueId[])[];
  /** Gradient arrivals as in JointProgram: leaf hooks run in this order. */
  readonly arrivals: readonly GradientContribution[];
  /** Compiles higher-order gradients; undefined without a compiler. */
  readonly higherOrder?: HigherOrderGradients;
}
