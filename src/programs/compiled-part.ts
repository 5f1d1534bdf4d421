import type { TraceResult } from '../traces/trace-result.ts';
import type { SubgraphStages } from './stages.ts';

/** What was seen of one part while it ran. */
export interface RunRecord {
  runs: number;
  /** Most bytes of the last run above those in use when it began; undefined before the first run. */
  peakBytes: number | undefined;
  /** What the plan that ran had predicted; inputs that died with the call change it. */
  predictedBytes: number | undefined;
}

/** What is compiled for one way through one part of the function. */
export interface CompiledPart {
  readonly trace: TraceResult;
  /** Null when the part has no tensor op. */
  readonly stages: SubgraphStages | null;
  readonly record: RunRecord;
  /** Set when the graph is smaller than `minGraphSize`: its instructions run eagerly. */
  readonly tooSmall: boolean;
}
