import type { UserPosition } from '../runtime/errors/position.ts';
import type { BreakRecord } from './traces/graph-break.ts';

/** The function, or a part of it, runs as ordinary JavaScript. Nothing of this is silent. */
export interface FallbackRecord {
  readonly why: string;
  readonly at: UserPosition | undefined;
}

/** What happened to one captured function so far. */
export interface CapturedStats {
  readonly calls: number;
  /** Traces made; a call whose guards hold makes none. */
  readonly translations: number;
  /** Subgraphs with at least one op. */
  readonly graphs: number;
  /** Runs of subgraphs. */
  readonly graphRuns: number;
  readonly ops: number;
  /** Programs compiled for one set of sizes each, of traces that serve several. */
  readonly sizes: number;
  /** One per place and reason, in the order they were met. */
  readonly breaks: readonly BreakRecord[];
  readonly fallbacks: readonly FallbackRecord[];
}

/** The counters behind `stats()`. */
export class StatsCounter {
  calls = 0;
  translations = 0;
  graphs = 0;
  graphRuns = 0;
  ops = 0;
  sizes = 0;
  readonly #breaks = new Map<string, BreakRecord>();
  readonly #fallbacks = new Map<string, FallbackRecord>();

  addBreak(record: BreakRecord): void {
    // Host values are computed between graphs all the time: they end no graph.
    if (record.reason === 'host-value') return;
    const key = JSON.stringify([record.reason, record.at]);
    if (!this.#breaks.has(key)) this.#breaks.set(key, record);
  }

  addFallback(record: FallbackRecord): void {
    this.#fallbacks.set(record.why, record);
  }

  snapshot(): CapturedStats {
    const { calls, translations, graphs, graphRuns, ops, sizes } = this;
    const breaks = [...this.#breaks.values()];
    const fallbacks = [...this.#fallbacks.values()];
    return { calls, translations, graphs, graphRuns, ops, sizes, breaks, fallbacks };
  }
}
