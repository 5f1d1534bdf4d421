import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import type { PassCounts } from './pass-record.ts';

/** The results of each phase for one subgraph, for printing. */
export interface SubgraphStages {
  readonly traced: Program;
  readonly joint: Program | null;
  readonly forward: Program;
  readonly backward: Program | null;
  /**
   * Set if backward saves copies of views: maps each value of forward to its id in the program without the copies; null
   * for a copy.
   */
  readonly original?: readonly (ValueId | null)[];
  readonly planned: PlannedSubgraph;
  /** Null without a memory budget. */
  readonly recompute: Recompute | null;
  /** Whether its searches were replayed from an earlier process (`TOSTATIC_CACHE`). */
  readonly isKnown?: true;
  /** How often each optimizer pass ran and changed something, regions included. */
  readonly passes: PassCounts;
}

/** The effect of a memory budget on a program. */
export interface Recompute {
  readonly budget: number;
  /**
   * Peak bytes of forward and backward in the smallest plan that computes nothing twice. For a large program that
   * clearly exceeds the budget, calling this makes that plan.
   */
  readonly bytesBefore: () => number;
  /** Peak bytes of the current plan. */
  readonly bytes: number;
  /** The number of ops that run twice, and their share of forward's arithmetic. */
  readonly ops: number;
  readonly share: number;
  /** Whether several subgraphs of a step share the budget: `bytes` are then those of this subgraph alone. */
  readonly isShared?: true;
}
