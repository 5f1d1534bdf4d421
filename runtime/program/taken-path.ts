/** The path that a run has taken through the recorded branches and loops of its program. */

import type { GivenOperand } from './dynamic-call.ts';
import type { ValueId } from './program.ts';

/** One run of a region. */
export interface TakenRegion {
  /** Its number among the regions of the op. */
  readonly region: number;
  /** Its number among all frames of the run; 0 is the program itself. */
  readonly frame: number;
  readonly inside: TakenPath;
  /** Of a call with data-dependent shapes: its operands as `DynamicCall.at` takes them. */
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
