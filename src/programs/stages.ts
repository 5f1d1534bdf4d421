import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program } from '../../runtime/program/program.ts';

/** What each phase made of one subgraph, for printing. */
export interface SubgraphStages {
  readonly traced: Program;
  readonly joint: Program | null;
  readonly forward: Program;
  readonly backward: Program | null;
  readonly planned: PlannedSubgraph;
}
