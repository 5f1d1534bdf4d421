import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import { Decisions } from '../../runtime/run-program/control/decisions.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { SubgraphStages } from './stages.ts';

/** Measurements of one part's runs. */
export class RunRecord {
  runs = 0;
  /** Peak bytes of the last run above the bytes in use when it began; undefined before the first run. */
  peakBytes: number | undefined;
  /** Bytes of old gradients freed before the last run, which began with that many bytes less. */
  releasedBytes = 0;
  /** The plan of the last run; it depends on the inputs that died with the call. */
  planned: PlannedSubgraph | undefined;
  /** Indices of the inputs donated to the last run. */
  donated: readonly number[] = [];
  /** The decisions of its control ops in the last run. */
  readonly decisions = new Decisions();
}

/** The compiled subgraph of one path through one part of the function. */
export interface CompiledPart {
  readonly trace: TraceResult;
  /** Stages of the current plan; null if the part has no tensor op. */
  readonly stages: SubgraphStages | null;
  /** Whether the current plan is a first plan: the final plan is made once the part is hot. */
  readonly isFirst: boolean;
  readonly record: RunRecord;
  /** Set if the graph is smaller than `minGraphSize`: its instructions run eagerly. */
  readonly tooSmall: boolean;
}
