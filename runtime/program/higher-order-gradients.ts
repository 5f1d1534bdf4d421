/** Backward as a separate program whose results can be differentiated again. */

import type { AutogradError } from '../errors/errors.ts';
import type { GivenOperand } from './dynamic-call.ts';
import type { PlannedSubgraph } from './plan.ts';
import type { GradientContribution, ValueId, ValueTable } from './program.ts';

/** One execution of a region. */
export interface TakenRegion {
  /** The index among the op's regions. */
  readonly region: number;
  /** The index among all frames of the run; 0 is the program itself. */
  readonly frame: number;
  readonly inside: TakenPath;
  /** The operands of a call with data-dependent shapes, in the form that `DynamicCall.at` expects. */
  readonly given?: readonly GivenOperand[];
}

export interface TakenPath {
  /** The region executions of each op with a tape, in order: one for a branch or call, one per iteration for a loop. */
  readonly tapes: readonly { readonly tape: ValueId; readonly runs: readonly TakenRegion[] }[];
  /** The indices recorded by list ops. */
  readonly marks: readonly { readonly mark: ValueId; readonly index: number }[];
}

/** The location of a value in a run: the frame, and the value's id in the frame's program. */
export interface KeptAt {
  readonly frame: number;
  readonly id: ValueId;
}

/** An incoming gradient: the index it belongs to, and whether it has a history. */
export interface GivenGradient {
  readonly of: number;
  readonly recorded: boolean;
}

/** A request for a backward whose results have a history, or that receives gradients of such results. */
export interface GradientRequest {
  /** Whether the results will be differentiated. */
  readonly recorded: boolean;
  /** Given gradients, by output index. */
  readonly outputs: readonly GivenGradient[];
  /** Gradients of values that an earlier backward has read, by value id. */
  readonly values: readonly GivenGradient[];
  /** Earlier gradient contributions of other nodes, by target index. */
  readonly earlier: readonly GivenGradient[];
  /** Whether gradients of outputs that other outputs depend on are observed. */
  readonly watched: boolean;
  /** The requested gradients; null for all. */
  readonly requested: {
    readonly targets: readonly number[];
    readonly outputs: readonly number[];
  } | null;
  /** The run's path, for which the program is specialized and to which its values refer; null without control flow. */
  readonly path: TakenPath | null;
}

/** A forward value that the backward program reads. */
export interface ReadValue {
  readonly id: ValueId;
  /** Whether its data is read; otherwise only its shape. */
  readonly data: boolean;
  /** Whether its gradient flows to inputs of forward. */
  readonly flows: boolean;
}

/** A straight-line program; its inputs and outputs are identified by ids. */
export interface GradientPart {
  readonly planned: PlannedSubgraph;
  readonly inputs: readonly ValueId[];
  readonly outputs: readonly ValueId[];
}

/** Backward in parts; between two parts an output's gradient may be observed and replaced. */
export interface GradientProgram {
  readonly reads: readonly ReadValue[];
  /** Recomputes values that forward has not kept; null if none are missing. */
  readonly recomputed: GradientPart | null;
  /** Values whose data forward must have kept. */
  readonly taken: ReadonlySet<ValueId>;
  /** Ids of the given gradients: of outputs, of values, and earlier contributions. */
  readonly given: readonly ValueId[];
  readonly parts: readonly {
    /** Null if nothing is computed. */
    readonly part: GradientPart | null;
    readonly passes: {
      readonly from: ValueId;
      readonly to: ValueId;
      readonly numbers: readonly number[];
    } | null;
  }[];
  /** The gradient of each target; null if none flows. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** The forward values on the run's path and their locations; null if they are the program's. */
  readonly onPath: ValuesOnPath | null;
}

export interface ValuesOnPath {
  readonly values: ValueTable;
  readonly inputs: readonly ValueId[];
  readonly outputs: readonly ValueId[];
  readonly keptAt: readonly (readonly KeptAt[])[];
}

/** A backward described by indices of outputs, followed by forward values. */
export interface BackwardByNumbers {
  /** The outputs and values with a gradient. */
  readonly roots: readonly number[];
  /** The requested gradients: indices of targets, and of outputs and values; null for all. */
  readonly requested: {
    readonly targets: readonly number[];
    readonly values: readonly number[];
  } | null;
}

/** A backward that a run rejects. */
export interface RejectedBackward extends BackwardByNumbers {
  /** Earlier backwards without `retainGraph`. */
  readonly earlier: readonly BackwardByNumbers[];
  /** Values saved by the run that were written since forward. */
  readonly changed: readonly KeptAt[];
  /** As in a `GradientRequest`; null if no backward was recorded. */
  readonly path: TakenPath | null;
}

/** Whether eager backward can still compute the gradient of an output with respect to a target. */
export type IsOpen = (output: number, target: number) => boolean;

/** Compiles recorded backward programs on demand, after the traced program has run. */
export interface HigherOrderGradients {
  /**
   * Returns the program of a recorded backward. Throws AutogradError if an op has no second gradient or forward
   * has kept too little.
   */
  at(request: GradientRequest): GradientProgram;
  /** Returns the error that eager backward throws in this situation, naming the op; null if it succeeds. */
  eagerRefusal(backward: RejectedBackward): AutogradError | null;
  /** Returns which gradients eager backward can still compute after these without `retainGraph`. */
  stillOpen(after: Pick<RejectedBackward, 'earlier' | 'path'>): IsOpen;
  /** Returns all arrivals of gradients on the path of a run. */
  arrivals(path: TakenPath): readonly GradientContribution[];
}
