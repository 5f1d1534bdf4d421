import type { TraceResult } from '../traces/trace-result.ts';
import type { SubgraphStages } from './stages.ts';

/** What is compiled for one way through one part of the function. */
export interface CompiledPart {
  readonly trace: TraceResult;
  /** Null when the part has no tensor op. */
  readonly stages: SubgraphStages | null;
}
