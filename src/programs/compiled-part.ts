import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import { Decisions } from '../../runtime/run-program/control/decisions.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { SubgraphStages } from './stages.ts';

/** Measurements of one part while it ran. */
export class RunRecord {
  runs = 0;
  /** Most bytes of the last run above those in use when it began; undefined before the first run. */
  peakBytes: number | undefined;
  /** Bytes of old gradients that were freed before the last run: it began with that many fewer in use. */
  releasedBytes = 0;
  /** The plan of the last run, which inputs that died with the call change. */
  planned: PlannedSubgraph | undefined;
  /** Numbers of these inputs. */
  donated: readonly number[] = [];
  /** The decisions of its control ops in the last run. */
  readonly decisions = new Decisions();
}

/** The compiled subgraph of one path through one part of the function. */
export interface CompiledPart {
  readonly trace: TraceResult;
  /** Stages of the plan in force; null if the part has no tensor op. */
  readonly stages: SubgraphStages | null;
  /** The plan in force is a first one: the final one is made when the part proves hot. */
  readonly isFirst: boolean;
  readonly record: RunRecord;
  /** Set when the graph is smaller than `minGraphSize`: its instructions run eagerly. */
  readonly tooSmall: boolean;
}
