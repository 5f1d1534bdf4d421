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
export interface TraceSettings {
  readonly dynamic: Dynamic;
  readonly fullGraph: boolean;
  readonly capture: string;
  readonly unrollLimit: number;
  readonly pathLimit: number;
  readonly traceLimit: number;
}

/** Where processes leave each other their traces. */
export interface TraceStore {
  at(request: TraceRequest): StoredTrace;
}

/** The trace of one call: another process has left it, or this one may leave it. */
export interface StoredTrace {
  /** Notes the functions whose code a trace asks for. */
  readonly codeOf: CodeOf;
  /** The trace of an earlier process that fits the call. */
  find(): TraceResult | undefined;
  /**
   * Leaves the trace to other processes, unless one of them has left it. `guards`: all that must hold for it. Returns why it can't be left, where it
   * relies on what other processes don't have.
   */
  keep(result: TraceResult, guards: TraceResult['guards']): string | undefined;
}
