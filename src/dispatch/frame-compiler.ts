import { AutogradError, TostaticError } from '../../runtime/errors/errors.ts';
import { poisoning } from '../../runtime/memory/poison.ts';
import { type SpanStart, spans } from '../../runtime/profiler/spans.ts';
import { hasEffect } from '../../runtime/program/control-ops.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import { withCaptureSession } from '../1-capture/capture.ts';
import type { RegionPhases } from '../3-trace/append-regions.ts';
import { PathBudget } from '../3-trace/state/path-limit.ts';
import { trace } from '../3-trace/trace.ts';
import type { CodeOf } from '../3-trace/variables/code-of.ts';
import { differentiateRegion } from '../4-differentiate/differentiate.ts';
import { lostHistories } from '../4-differentiate/lost-histories.ts';
import { normalize, renumber } from '../5-optimize/cleanup/normalize.ts';
import { joinCalls } from '../5-optimize/join-calls/join-calls.ts';
import { CheckCounter, noChecks } from '../check/check-counter.ts';
import { checkedSubgraph } from '../check/checked-subgraph.ts';
import type { CompileOptions } from '../compile/compilation.ts';
import { withOperandCopies } from '../compile/operand-copies.ts';
import { tracedOptions } from '../compile/traced-options.ts';
import { instructionLog } from '../explain/log-events.ts';
import { addUserLines } from '../full-graph/failed-run.ts';
import { expectOneProgram } from '../full-graph/full-graph-error.ts';
import type { Guard } from '../guards/guard.ts';
import type { StaticSettings } from '../options/static-options.ts';
import { compileLater, compileSubgraph } from '../pipeline.ts';
import type { StoredTrace } from '../process-cache/trace-store.ts';
import { type CompiledPart, RunRecord } from '../programs/compiled-part.ts';
import { portableMemory } from '../programs/memory-options.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import type { StatsCounter } from '../stats.ts';
import { OpSites } from '../traces/op-sites.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { codeOf } from './code-cache.ts';
import { CurrentPlan, firstOptions, type ReadySubgraph } from './current-plan.ts';
import { Entry } from './entry.ts';
import { LengthsTraced } from './lengths-traced.ts';
import { savedInputsOf } from './ownership/saved-views.ts';
import { mayReadByGradients, readByGradients } from './read-by-gradients.ts';
import type { Candidate, ResumePoint } from './resume-point.ts';
import { SizedEntries, withOwnSizes } from './sized-entries.ts';
import { type PlanChoice, SubgraphVariants } from './subgraph-variants.ts';
import { verifiedCodeOf, verifyFrames } from './verified-code.ts';

const regionPhases: RegionPhases = {
  normalize: (program) => normalize(joinCalls(program)),
  differentiate: differentiateRegion,
};

/** With this many entries at one point, the guarded facts change with every call: only recurring states are traced. */
const recompileLimit = 8;

/** The limit of entries if an `inputSpec` leaves sizes open: a function may need a trace for each size. */
const openSizesLimit = 64;

/** After this many entries at one point, numbers that came out of a break are no longer constants. */
const volatileAfter = 4;

/** Why a part is not compiled. */
interface NotCompiled {
  readonly why: string;
}

export const isEntry = (found: Entry | NotCompiled): found is Entry => found instanceof Entry;

/** Phases 3 to 7: from a point in the code to the compiled entry there. */
export class FrameCompiler {
  readonly parts: CompiledPart[] = [];
  readonly #settings: StaticSettings;
  readonly #stats: StatsCounter;
  readonly #checks: CheckCounter;
  /** Null if runs are not checked. */
  readonly checks: CheckCounter | null;
  readonly #partOf = new WeakMap<Candidate, CompiledPart>();
  /** Limits attempts to trace the function as one program when breaks are allowed. */
  readonly #pathBudget: PathBudget;
  readonly lengths = new LengthsTraced();
  readonly sites = new OpSites();

  constructor(settings: StaticSettings, stats: StatsCounter) {
    this.#settings = settings;
    this.#stats = stats;
    this.#pathBudget = new PathBudget(Math.ceil(settings.pathLimit / 8));
    this.#checks = settings.check === 0 ? noChecks : new CheckCounter(settings.check);
    this.checks = settings.check === 0 ? null : this.#checks;
    stats.checks = this.#checks;
    if (settings.check > 0) poisoning.active = true;
  }

  /** Whether the guarded facts change so often that only recurring states are traced at the point. */
  isCrowded(point: ResumePoint): boolean {
    const limit = point.history.bounds.size > 0 ? openSizesLimit : recompileLimit;
    return point.size >= limit;
  }

  /** If false, nothing may run eagerly: calls that fit no entry are always traced. */
  get mayFallBack(): boolean {
    return !this.#settings.fullGraph;
  }

  /** Whether the backend is asynchronous. */
  get awaitsRuns(): boolean {
    return this.#settings.compile.backend?.isAsync === true;
  }

  /** Evicts entries that have not been used recently if all entries of the point take too much memory. */
  makeRoom(point: ResumePoint): void {
    for (const removed of point.makeRoom()) {
      const index = this.parts.indexOf(this.#partOf.get(removed)!);
      if (index >= 0) this.parts.splice(index, 1);
    }
  }

  /** Traces and compiles an entry, and adds it to the point. */
  compile(point: ResumePoint, frames: readonly Frame[]): Entry | NotCompiled {
    try {
      const stored = this.#storedAt(point, frames);
      const known = stored && withCaptureSession(() => stored.find());
      if (known) this.#stats.knownTraces++;
      const result =
        known ??
        spans.around(spanOf('trace', frames), () =>
          this.#trace(point, frames, stored?.codeOf ?? this.#codeOf),
        );
      const keep: StoreEntry = (guards, of = result) =>
        this.#stats.addUnkept(stored?.keep({ ...of, places: result.places }, guards));
      return spans.around(spanOf('compile', frames), () =>
        this.#compile(point, frames, result, keep),
      );
    } catch (error) {
      const { strict, fullGraph, check } = this.#settings;
      if (strict || fullGraph || check > 0 || error instanceof TostaticError) throw error;
      return { why: `tostatic failed: ${error instanceof Error ? error.message : String(error)}` };
    }
  }

  /** Adds the user's lines to an error of a run if the function has to be one program. */
  addUserLines(error: unknown, { sources }: TraceResult, frames: readonly Frame[]): void {
    if (!this.#settings.fullGraph) return;
    const captured = frames.flatMap(({ closure: { code }, pc }) => {
      const span = code.spans[pc];
      return span ? [code.source.position(span.start)] : [];
    });
    addUserLines(error, sources, captured.reverse());
  }

  /** Returns where an earlier process may have stored the trace of the call. */
  #storedAt({ history }: ResumePoint, frames: readonly Frame[]): StoredTrace | undefined {
    const settings = this.#settings;
    return settings.traces?.at({ frames, codeOf: this.#codeOf, history, settings });
  }

  get #codeOf(): CodeOf {
    return this.#settings.strict ? verifiedCodeOf : codeOf;
  }

  #trace(point: ResumePoint, frames: readonly Frame[], code: CodeOf): TraceResult {
    const { fullGraph, capture, strict, unrollLimit, pathLimit, traceLimit } = this.#settings;
    point.noteChanges(frames);
    if (strict) verifyFrames(frames);
    const result = withCaptureSession(() =>
      trace(frames, code, {
        history: point.history,
        changing: point.facts,
        numbersAreVolatile: point.size >= volatileAfter,
        unrollLimit,
        pathLimit,
        ...(!fullGraph && { pathBudget: this.#pathBudget }),
        traceLimit,
        controlPolicy: fullGraph ? 'always' : capture === 'auto' ? 'possible' : 'functions',
        regions: regionPhases,
        onInstruction: instructionLog(),
        sites: this.sites,
      }),
    );
    this.#stats.translations++;
    this.#stats.perLength = this.lengths.with(result.perLength);
    if (fullGraph) expectOneProgram(frames[0]!.closure.code.name || 'the function', result);
    return result;
  }

  /** `keep`: stores the trace for other processes, for the sizes of one program. */
  #compile(
    point: ResumePoint,
    frames: readonly Frame[],
    result: TraceResult,
    keep: StoreEntry,
  ): Entry | NotCompiled {
    const sized = this.#sizedEntry(point, frames, result, keep);
    const sizedResult = sized ? result : withOwnSizes(result, frames);
    if (!sized) keep(sizedResult.guards);
    const entry = sized ?? this.#fixedEntry(point, sizedResult);
    if (!entry) return { why: 'a value that backward needs is written in place' };
    if (result.outcome.kind === 'break') this.#stats.addBreak(result.outcome.record);
    return entry;
  }

  /** Returns an entry for the traced sizes. */
  #fixedEntry(point: ResumePoint, result: TraceResult): Entry | null {
    const entry = this.#entryOf(result);
    if (entry) {
      this.#addPart(entry, entry.part);
      point.add(entry);
    }
    return entry;
  }

  /** Returns an entry for a trace that fits other sizes: each set of sizes is compiled when it first occurs. */
  #sizedEntry(
    point: ResumePoint,
    frames: readonly Frame[],
    traced: TraceResult,
    keep: StoreEntry,
  ): Entry | undefined {
    const { resized } = traced;
    if (!resized) return undefined;
    let first: CompiledPart | undefined;
    const compile = (result: TraceResult, sizes: readonly Guard[]): Entry | null => {
      const entry = this.#entryOf(result, resized.guards);
      if (!entry) return null;
      keep([...resized.guards, ...sizes, ...result.guards], result);
      const guards = [...resized.guards, ...result.guards];
      first ??= partOf({ ...result, guards }, entry.part, entry.subgraph);
      this.#stats.sizes++;
      return entry;
    };
    const mayDecline = this.#settings.fallback === 'eager' && this.mayFallBack;
    const sized = new SizedEntries(resized, traced, compile, mayDecline);
    const entry = sized.find(frames);
    if (first) this.#addPart(sized, first);
    if (entry) point.add(sized);
    return entry;
  }

  /** `shared`: guards that are checked before those of the trace. */
  #entryOf(traced: TraceResult, shared: readonly Guard[] = []): Entry | null {
    const { minGraphSize } = this.#settings;
    const compile = firstOptions(traced, this.#settings.compile);
    const compiled = compileOps(traced, compile);
    if (!compiled) return null;
    const { result, stages } = compiled;
    const tooSmall = stages !== null && stages.forward.ops.length < minGraphSize;
    const subgraph = stages && !tooSmall ? this.#variants(result, stages, compile) : null;
    this.#countPlan(stages);
    const part = partOf(result, { stages, record: new RunRecord(), tooSmall }, subgraph);
    return new Entry(part, subgraph, compile.memory.donate, shared);
  }

  #addPart(entry: Candidate, part: CompiledPart): void {
    this.#partOf.set(entry, part);
    this.parts.push(part);
    if (!part.stages || part.tooSmall) return;
    this.#stats.graphs++;
    this.#stats.ops += part.stages.forward.ops.length;
  }

  #variants(result: TraceResult, stages: SubgraphStages, first: CompileOptions): SubgraphVariants {
    const usual = this.#inForce(result, stages, first, []);
    return new SubgraphVariants(
      usual,
      mayReadByGradients(result)
        ? ({ forward, planned }) => readByGradients(forward, planned)
        : null,
      ({ donated, asTraced, portable, compact, rate }: PlanChoice) => {
        const memory = portable ? portableMemory(first.memory) : first.memory;
        const options = asTraced
          ? tracedOptions(first)
          : { ...first, memory, compact, ...(rate !== null && { rate }) };
        const program = asTraced ? withOperandCopies(result.program) : result.program;
        const compiled = compileSubgraph(program, result, options, donated);
        this.#countPlan(compiled);
        return this.#inForce(result, compiled, options, donated);
      },
      result.inputs.flatMap(({ kind }, i) =>
        kind === 'register' || kind === 'argument' ? [i] : [],
      ),
      result.viewsOfOne,
    );
  }

  #countPlan(stages: SubgraphStages | null): void {
    if (stages) this.#stats.plans++;
    if (stages?.isKnown) this.#stats.knownPlans++;
  }

  /** Combines the current plan and the better one that replaces it once the subgraph is hot. */
  #inForce(
    result: TraceResult,
    stages: SubgraphStages,
    options: CompileOptions,
    donated: readonly number[],
  ): CurrentPlan {
    const ready = (compiled: SubgraphStages): ReadySubgraph => ({
      stages: compiled,
      subgraph: checkedSubgraph(compiled.planned, this.#checks),
      savedInputs: options.memory.compactViews ? savedInputsOf(compiled) : [],
    });
    if (options.tier === 'final') return new CurrentPlan(ready(stages), null);
    const final = { ...options, tier: 'final' } as const;
    const better = compileLater(result.program, result, final, donated);
    return new CurrentPlan(ready(stages), mapped(better, ready));
  }
}

/** Receives all guards of a trace, and the result for one set of sizes if it serves several. */
type StoreEntry = (guards: readonly Guard[], result?: TraceResult) => void;

function* mapped<A, B>(steps: Steps<A>, map: (result: A) => B): Steps<B> {
  return map(yield* steps);
}

/** Returns the description of an entry, with the stages of the current plan. */
function partOf(
  trace: TraceResult,
  { stages, record, tooSmall }: Pick<CompiledPart, 'stages' | 'record' | 'tooSmall'>,
  subgraph: SubgraphVariants | null,
): CompiledPart {
  return {
    trace,
    record,
    tooSmall,
    get stages() {
      return subgraph ? subgraph.usual.stages : stages;
    },
    get isFirst() {
      return subgraph?.isFinal === false;
    },
  };
}

function spanOf(phase: 'trace' | 'compile', frames: readonly Frame[]): SpanStart {
  const { name } = frames[0]!.closure.code;
  return { kind: 'compile', name: `${phase} ${name || 'a function'}`, device: 'host' };
}

interface CompiledOps {
  readonly result: TraceResult;
  /** Null if there is nothing to run. */
  readonly stages: SubgraphStages | null;
}

/** Runs phases 4 to 7; null if only some paths overwrite a value that backward needs. */
function compileOps(result: TraceResult, options: CompileOptions): CompiledOps | null {
  const { program } = result;
  const writes = program.ops.some((op) => writtenOperands(op).length > 0);
  if (program.outputs.length === 0 && !program.ops.some(hasEffect)) return { result, stages: null };
  try {
    return { result, stages: compileSubgraph(program, result, options) };
  } catch (error) {
    if (!writes || !(error instanceof AutogradError)) throw error;
    const { needsGrad, differentiable } = result;
    const lost = lostHistories(renumber(program), needsGrad, differentiable);
    if (!lost) return null;
    const left = {
      ...result,
      differentiable: differentiable.map((flows, i) => flows && lost[i] === null),
      lost: result.lost.map((before, i) => before ?? lost[i]!),
    };
    return { result: left, stages: compileSubgraph(program, left, options) };
  }
}
