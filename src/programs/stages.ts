import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { PassCounts } from './pass-record.ts';

/** The results of each phase for one subgraph, for printing. */
export interface SubgraphStages {
  readonly traced: Program;
  readonly joint: Program | null;
  readonly forward: Program;
  readonly backward: Program | null;
  /** Where copies of views are read: per value of forward, what it is in the program without them; null for a copy. */
  readonly original?: readonly (ValueId | null)[];
  readonly planned: PlannedSubgraph;
  /** Null without a memory budget. */
  readonly recompute: Recompute | null;
  /** Its searches were known from an earlier process (`TOSTATIC_CACHE`). */
  readonly isKnown?: true;
  /** How often each pass of the optimizer ran and was applied, regions included. */
  readonly passes: PassCounts;
}

/** The effect of a memory budget on a program. */
export interface Recompute {
  readonly budget: number;
  /**
   * Bytes of forward and backward at their peak in the smallest plan that computes nothing twice. A large program that
   * surely exceeds the budget is only planned for this number when it is asked for.
   */
  readonly bytesBefore: () => number;
  /** The same as planned. */
  readonly bytes: number;
  /** How many ops run twice, and the share that they are of forward's arithmetic. */
  readonly ops: number;
  readonly share: number;
  /** Several subgraphs of a step share the budget: `bytes` are those of this one alone. */
  readonly isShared?: true;
}
