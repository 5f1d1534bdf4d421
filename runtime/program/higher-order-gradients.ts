/** Backward as a program of its own, whose results can be differentiated themselves. */

import type { AutogradError } from '../errors/errors.ts';
import type { GivenOperand } from './dynamic-call.ts';
import type { PlannedSubgraph } from './plan.ts';
import type { ValueId, ValueTable } from './program.ts';

/** One run of a region. */
export interface TakenRegion {
  /** Its number among the regions of the op. */
  readonly region: number;
  /** Its number among all frames of the run; 0 is the program itself. */
  readonly frame: number;
  readonly inside: TakenPath;
  /** The operands of a call with data-dependent shapes, as `DynamicCall.at` takes them. */
  readonly given?: readonly GivenOperand[];
}

export interface TakenPath {
  /** The runs of the regions of each op with a tape, in order: one of a branch or call, one per iteration of a loop. */
  readonly tapes: readonly { readonly tape: ValueId; readonly runs: readonly TakenRegion[] }[];
  /** The indices that ops on lists have marked. */
  readonly marks: readonly { readonly mark: ValueId; readonly index: number }[];
}

/** Where a run keeps a value: the frame, and the value's number in the program of that frame. */
export interface KeptAt {
  readonly frame: number;
  readonly id: ValueId;
}

/** A gradient that is given, by a number, and whether it has a history. */
export interface GivenGradient {
  readonly of: number;
  readonly recorded: boolean;
}

/** The request for a backward whose results have a history, or that receives gradients of such results. */
export interface GradientRequest {
  /** The results are to be differentiated. */
  readonly recorded: boolean;
  /** Given gradients by the number of the output. */
  readonly outputs: readonly GivenGradient[];
  /** Gradients of values that an earlier backward has read, by their id. */
  readonly values: readonly GivenGradient[];
  /** Earlier gradient contributions of other nodes, by the number of their target. */
  readonly earlier: readonly GivenGradient[];
  /** Gradients of outputs that other outputs depend on are observed. */
  readonly watched: boolean;
  /** Numbers of the requested gradients; null: all. */
  readonly wanted: {
    readonly targets: readonly number[];
    readonly outputs: readonly number[];
  } | null;
  /** The path of the run, which the program is made for; null: there are no branches or loops. Values are those on it. */
  readonly path: TakenPath | null;
}

/** A value of forward that such a program reads. */
export interface ReadValue {
  readonly id: ValueId;
  /** False: its shape alone. */
  readonly data: boolean;
  /** A gradient of it leads on to inputs of forward. */
  readonly flows: boolean;
}

/** A straight program between values that are distinguished by their ids. */
export interface GradientPart {
  readonly planned: PlannedSubgraph;
  readonly inputs: readonly ValueId[];
  readonly outputs: readonly ValueId[];
}

/** Backward in parts; after each but the last a gradient of an output may be looked at and replaced. */
export interface GradientProgram {
  readonly reads: readonly ReadValue[];
  /** The program that computes values which forward has not kept from those that it has; null if nothing is missing. */
  readonly again: GradientPart | null;
  /** Values whose data forward must have kept. */
  readonly taken: ReadonlySet<ValueId>;
  /** Ids of the gradients that are given: of outputs, of values, from before. */
  readonly given: readonly ValueId[];
  readonly parts: readonly {
    /** Null: nothing is computed. */
    readonly part: GradientPart | null;
    readonly passes: {
      readonly from: ValueId;
      readonly to: ValueId;
      readonly numbers: readonly number[];
    } | null;
  }[];
  /** The gradient of each target; null where none flows. */
  readonly gradInputs: readonly (ValueId | null)[];
  /** The values of forward on the path of the run, with where it keeps each; null: they are those of the program. */
  readonly onPath: ValuesOnPath | null;
}

export interface ValuesOnPath {
  readonly values: ValueTable;
  readonly inputs: readonly ValueId[];
  readonly outputs: readonly ValueId[];
  readonly keptAt: readonly (readonly KeptAt[])[];
}

/** A backward by numbers of outputs; those after them are values of forward. */
export interface BackwardByNumbers {
  /** Outputs and values with a gradient. */
  readonly roots: readonly number[];
  /** Requested gradients: numbers of targets, and of outputs and values; null: all. */
  readonly wanted: {
    readonly targets: readonly number[];
    readonly values: readonly number[];
  } | null;
}

/** A backward that a run rejects. */
export interface RejectedBackward extends BackwardByNumbers {
  /** Earlier backwards that didn't retain the graph. */
  readonly earlier: readonly BackwardByNumbers[];
  /** Values of the program that were written since. */
  readonly changed: readonly ValueId[];
  /** As in a `GradientRequest`; null where no backward was recorded. */
  readonly path: TakenPath | null;
}

/** Compiles backward programs with a history, on request after the traced program has run. */
export interface HigherOrderGradients {
  /**
   * Backward with a history as a program. Throws AutogradError where an op has no second gradient, or forward has
   * kept too little.
   */
  at(request: GradientRequest): GradientProgram;
  /** The error that eager backward throws in the same situation, which names the op; null: it throws none. */
  eagerRefusal(backward: RejectedBackward): AutogradError | null;
}
