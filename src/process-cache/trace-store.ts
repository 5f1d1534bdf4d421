import type { CodeOf } from '../3-trace/variables/code-of.ts';
import type { Dynamic, NumberHistory } from '../guards/number-history.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';

/** A call that no entry fits, at some point in its code. */
export interface TraceRequest {
  readonly frames: readonly Frame[];
  readonly codeOf: CodeOf;
  readonly history: NumberHistory;
  readonly settings: TraceSettings;
}

/** The options that a trace depends on. */
interface TraceSettings {
  readonly dynamic: Dynamic;
  readonly fullGraph: boolean;
  readonly capture: string;
  readonly unrollLimit: number;
  readonly pathLimit: number;
  readonly traceLimit: number;
}

/** Stores traces that processes share. */
export interface TraceStore {
  at(request: TraceRequest): StoredTrace;
}

/** The trace of one call, stored by another process or to be stored by this one. */
export interface StoredTrace {
  /** Records the functions whose code a trace requests. */
  readonly codeOf: CodeOf;
  /** Returns the trace of an earlier process that fits the call. */
  find(): TraceResult | undefined;
  /**
   * Stores the trace for other processes, unless one of them has stored it already. `guards`: all guards of the entry.
   * If it relies on something that other processes don't have, returns why it can't be stored.
   */
  keep(result: TraceResult, guards: TraceResult['guards']): string | undefined;
}
