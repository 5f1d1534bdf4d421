import type { UserPosition } from '../runtime/errors/position.ts';
import type { CallTrace, CallTraceCounts } from '../runtime/ops/core/call-trace.ts';
import type { CheckCounter } from './check/check-counter.ts';
import type { BreakReason, BreakRecord } from './traces/graph-break.ts';

/** Records that the function, or a part of it, runs as ordinary JavaScript. */
export interface FallbackRecord {
  readonly why: string;
  readonly at: UserPosition | undefined;
}

/** Records that code over an array is traced separately for each length of the array. */
export interface PerLengthRecord {
  readonly at?: UserPosition | undefined;
  readonly why: string;
}

/** All breaks with the same reason. */
export interface BreakGroup {
  readonly reason: BreakReason;
  /** How often runs reached these breaks, counting every iteration of a loop. */
  readonly met: number;
  /** The number of distinct positions. */
  readonly places: number;
}

/** Statistics of one captured function: plain data that survives a round trip through JSON. */
export interface CapturedStats {
  /** Calls of the function. */
  readonly calls: number;
  /** With `compile: 'hot'` or `tostatic/deferred`: the eager calls before compiling. Their kernels are not counted. */
  readonly coldCalls?: number;
  /** The number of traces; a call whose guards hold needs none. */
  readonly translations: number;
  /** Subgraphs with at least one op. */
  readonly graphs: number;
  /** Runs of subgraphs. */
  readonly graphRuns: number;
  readonly ops: number;
  /** The number of programs compiled for a single set of sizes from traces that serve several. */
  readonly sizes: number;
  /** The number of plans: one for each program, set of sizes and pattern of donated inputs. */
  readonly plans: number;
  /**
   * The number of plans whose searches were replayed: within a budget from an earlier plan of the function, and with
   * `TOSTATIC_CACHE` from an earlier process.
   */
  readonly knownPlans?: number;
  /**
   * With `TOSTATIC_CACHE`: the number of traces loaded from an earlier process, which `translations` doesn't include.
   */
  readonly knownTraces?: number;
  /** With `TOSTATIC_CACHE`: why traces were not stored for later processes, without duplicates. */
  readonly unkeptTraces?: readonly string[];
  /** The number of kernels launched inside subgraphs, and by everything else in the calls. */
  readonly kernels: { readonly static: number; readonly eager: number };
  /** One per position and reason, in order of first occurrence. */
  readonly breaks: readonly BreakRecord[];
  /** The breaks grouped by reason, most frequent first. */
  readonly breakReasons: readonly BreakGroup[];
  readonly fallbacks: readonly FallbackRecord[];
  /** Loops and calls over arrays that are traced separately for each length, with reasons. */
  readonly perLength?: readonly PerLengthRecord[];
  /** The numbers of runs and backwards that check mode repeated and found identical. */
  readonly checks: { readonly runs: number; readonly backwards: number };
  /** With a memory budget and graph breaks: the bytes that the current or last step needed beyond its inputs. */
  readonly stepBytes?: number;
  /** Counts of its ops, if the function runs natively because its source or scope is unavailable. */
  readonly coExecution?: CallTraceCounts;
}

/** The counters behind `stats()`. */
export class StatsCounter {
  calls = 0;
  coldCalls = 0;
  translations = 0;
  graphs = 0;
  graphRuns = 0;
  ops = 0;
  sizes = 0;
  plans = 0;
  knownPlans = 0;
  knownTraces = 0;
  staticKernels = 0;
  eagerKernels = 0;
  perLength: readonly PerLengthRecord[] = [];
  /** Null until something is compiled. */
  checks: CheckCounter | null = null;
  /** Statistics of a co-executed function. */
  callTrace: CallTrace | undefined;
  readonly #unkept = new Set<string>();
  readonly #breaks = new Map<string, BreakRecord>();
  readonly #met = new Map<BreakReason, number>();
  readonly #fallbacks = new Map<string, FallbackRecord>();

  addBreak(record: BreakRecord): void {
    // Computing values in JavaScript between graphs is common, and ends no graph.
    if (record.reason === 'host-value') return;
    const key = JSON.stringify([record.reason, record.at]);
    if (!this.#breaks.has(key)) this.#breaks.set(key, record);
  }

  addUnkept(why: string | undefined): void {
    if (why) this.#unkept.add(why);
  }

  /** Counts a run that reached a break. */
  meetBreak({ reason }: BreakRecord): void {
    if (reason !== 'host-value') this.#met.set(reason, (this.#met.get(reason) ?? 0) + 1);
  }

  addFallback(record: FallbackRecord): void {
    this.#fallbacks.set(record.why, record);
  }

  snapshot(): CapturedStats {
    const { calls, translations, graphs, graphRuns, ops, sizes, plans } = this;
    const breaks = [...this.#breaks.values()].map(plain);
    const fallbacks = [...this.#fallbacks.values()].map(plain);
    const kernels = { static: this.staticKernels, eager: this.eagerKernels };
    const breakReasons = this.#groups(breaks);
    const checks = { runs: this.checks?.runs ?? 0, backwards: this.checks?.backwards ?? 0 };
    const programs = { translations, graphs, graphRuns, ops, sizes, plans };
    const counts = { calls, ...programs, kernels, checks };
    const { coldCalls, knownPlans, knownTraces, perLength } = this;
    const coExecution = this.callTrace?.counts();
    return {
      ...counts,
      ...(coldCalls > 0 && { coldCalls }),
      ...(knownPlans > 0 && { knownPlans }),
      ...(knownTraces > 0 && { knownTraces }),
      ...(this.#unkept.size > 0 && { unkeptTraces: [...this.#unkept] }),
      breaks,
      breakReasons,
      fallbacks,
      ...(perLength.length > 0 && { perLength }),
      ...(coExecution && { coExecution }),
    };
  }

  #groups(breaks: readonly BreakRecord[]): BreakGroup[] {
    const reasons = [...new Set(breaks.map(({ reason }) => reason))];
    return reasons
      .map((reason) => ({
        reason,
        met: this.#met.get(reason) ?? 0,
        places: breaks.filter((each) => each.reason === reason).length,
      }))
      .sort((a, b) => b.met - a.met || b.places - a.places || a.reason.localeCompare(b.reason));
  }
}

/** Returns a copy without undefined properties, which JSON omits. */
function plain<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}
