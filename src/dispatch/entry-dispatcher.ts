import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { ownPartOfFile } from '../../runtime/errors/own-code.ts';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import { events } from '../../runtime/memory/events.ts';
import { isRefused } from '../../runtime/run-program/refused.ts';
import { endLongCaptureSession, sessionIdleSince } from '../1-capture/capture.ts';
import { keepsNoOperand } from '../3-trace/builtins/api.ts';
import { logBreak, logFallback, logMiss, logPart } from '../explain/log-events.ts';
import { missedBudget } from '../explain/memory-budget.ts';
import { warnOnce } from '../explain/warn-once.ts';
import { forgetCalls } from '../guards/called-numbers.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { StatsCounter } from '../stats.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { Suspended } from '../vm/frames/suspended.ts';
import type { Entry, EntryOutcome } from './entry.ts';
import { type FrameCompiler, isEntry } from './frame-compiler.ts';
import { HostStretches } from './host-stretches.ts';
import { finishNatively, stepNatively, stepTo } from './native.ts';
import type { OwnedTensors } from './ownership/owned-tensors.ts';
import type { ResumePoint, ResumePoints } from './resume-point.ts';
import { oneMemory, refusedBecause, runAwaited, runOrFail } from './run-entry.ts';
import { runSerially } from './run-serially.ts';
import type { StepBudget } from './step-budget.ts';

/** After this many traces without a graph, the function runs as ordinary JavaScript. */
const graphlessLimit = 10;

/** After this many small segments at one point in one call, the enclosing loop continues natively. */
const fragmentLimit = 64;

/** Segments of fewer ops than this are small. */
const fragmentOps = 4;

interface Break {
  readonly kind: 'break';
  /** Undefined if execution was native, up to an `await`. */
  readonly entry: Entry | undefined;
  readonly frames: Frame[];
}

/** Native execution has reached another instruction. */
interface NativeProgress {
  readonly kind: 'moved';
  readonly entry: undefined;
  readonly frames: Frame[];
}

/** How a run ended: with the call's result, or at an instruction. */
type Progress = { readonly kind: 'return'; readonly value: unknown } | Break | NativeProgress;

/** For each point, how often one call has reached it with a small segment. */
export type Fragments = Map<ResumePoint, number>;

/** Called when code runs as ordinary JavaScript: records it, or throws. */
type FallBack = (why: string, at: UserPosition | undefined) => void;

/** Moves a call from entry to entry: a hit runs compiled code, a miss traces, a break runs one native instruction. */
export class EntryDispatcher {
  readonly points: ResumePoints;
  /** Set once traces have found no graph: the function then runs natively. */
  skipped = false;
  /** Whether the backend is asynchronous, so that `runAsync` replaces `run`. */
  readonly awaitsRuns: boolean;
  readonly #name: string;
  readonly #stats: StatsCounter;
  readonly #compiler: FrameCompiler;
  readonly #fallBack: FallBack;
  readonly #stretches: HostStretches;
  /** Null without a budget. */
  readonly #budget: StepBudget | null;

  constructor(
    name: string,
    points: ResumePoints,
    stats: StatsCounter,
    compiler: FrameCompiler,
    fallBack: FallBack,
    budget: StepBudget | null = null,
  ) {
    this.#name = name;
    this.points = points;
    this.#stats = stats;
    this.#compiler = compiler;
    this.#stretches = new HostStretches(compiler, stats);
    this.awaitsRuns = compiler.awaitsRuns;
    this.#fallBack = fallBack;
    this.#budget = budget;
  }

  /** Starts a call. */
  begin(): void {
    this.#budget?.begin();
  }

  /** With a budget shared by several subgraphs: the bytes of the current or last step. */
  get stepBytes(): number | undefined {
    return this.#budget?.needed;
  }

  get parts(): readonly CompiledPart[] {
    return this.#compiler.parts;
  }

  /** Compiles the entry at this point without running it. */
  prepare(point: ResumePoint, frames: readonly Frame[]): void {
    if (!point.find(frames) && point.native === null) this.#compile(point, frames);
  }

  /** Runs from a resume point to the return, or to an instruction that isn't traced. */
  run(point: ResumePoint, frames: Frame[], owned: OwnedTensors): Progress {
    const entry = this.#knownAt(point, frames) ?? this.#newAt(point, frames, owned);
    if (entry === 'passed') return { kind: 'moved', entry: undefined, frames };
    if (!entry || entry.runsEagerly || entry.part.tooSmall)
      return this.#eagerly(entry, frames, owned);
    const before = events.kernels;
    if (entry.subgraph) this.#budget?.prepare(entry.subgraph);
    let outcome: EntryOutcome | string;
    try {
      outcome = entry.mayStop ? runOrFail(entry, frames, owned) : runPlain(entry, frames, owned);
      this.#compiler.checks?.throwFound();
    } catch (error) {
      this.#compiler.addUserLines(error, entry.result, frames);
      throw error;
    }
    return this.#ended(entry, outcome, before, frames, owned);
  }

  /** Runs with an asynchronous backend, after the graphs of earlier calls. */
  runAsync(point: ResumePoint, frames: Frame[], owned: OwnedTensors): Promise<Progress> {
    return runSerially(async () => {
      const entry = this.#knownAt(point, frames) ?? this.#newAt(point, frames, owned);
      if (entry === 'passed') return { kind: 'moved', entry: undefined, frames };
      if (!entry || entry.runsEagerly || entry.part.tooSmall)
        return this.#eagerly(entry, frames, owned);
      const before = events.kernels;
      if (entry.subgraph) this.#budget?.prepare(entry.subgraph);
      let outcome: EntryOutcome | string;
      try {
        outcome = await runAwaited(entry, frames, owned);
        this.#compiler.checks?.throwFound();
      } catch (error) {
        this.#compiler.addUserLines(error, entry.result, frames);
        throw error;
      }
      return this.#ended(entry, outcome, before, frames, owned);
    });
  }

  #knownAt(point: ResumePoint, frames: readonly Frame[]): Entry | undefined {
    const known = point.find(frames);
    if (known && sessionIdleSince !== undefined) endLongCaptureSession();
    return known;
  }

  /** Runs as ordinary JavaScript, as there is no program to run. */
  #eagerly(entry: Entry | undefined, frames: Frame[], owned: OwnedTensors): Progress {
    if (!entry) return this.natively(frames, owned);
    if (!entry.runsEagerly) return this.#runSmall(entry, frames, owned);
    this.#meetBreak(entry);
    return this.#explained(entry.result, frames, () => this.natively(frames, owned));
  }

  /** Records a finished run. `before`: the number of kernels counted before it. */
  #ended(
    entry: Entry,
    outcome: EntryOutcome | string,
    before: number,
    frames: Frame[],
    owned: OwnedTensors,
  ): Progress {
    this.#stats.staticKernels += events.kernels - before;
    if (typeof outcome === 'string') return this.#leaveToEager(outcome, entry, frames, owned);
    if (entry.subgraph) this.#stats.graphRuns++;
    if (entry.subgraph && gradEnabled()) this.#budget?.note(entry.subgraph);
    if (outcome.kind === 'return') return outcome;
    this.#meetBreak(entry);
    const { frames: left } = outcome;
    if (onlyThrows(entry))
      return this.#explained(entry.result, left, () => this.natively(left, owned));
    return { kind: 'break', entry, frames: left };
  }

  /**
   * Runs the call eagerly if an error has to occur at its position and reach the user's handlers; otherwise records the
   * fallback.
   */
  #leaveToEager(
    why: string,
    entry: Entry,
    frames: readonly Frame[],
    owned: OwnedTensors,
  ): Progress {
    const at = positionOf(frames);
    const outcome = entry.runAgain(() =>
      this.#explained(entry.result, frames, () => this.natively(frames, owned)),
    );
    if (outcome.kind === 'return') {
      this.#stats.addFallback({ why, at });
      logFallback(this.#name, why, at);
    }
    return outcome;
  }

  #explained<T>(result: TraceResult, frames: readonly Frame[], run: () => T): T {
    try {
      return run();
    } catch (error) {
      this.#compiler.addUserLines(error, result, frames);
      throw error;
    }
  }

  #meetBreak({ result: { outcome } }: Entry): void {
    if (outcome.kind === 'break') this.#stats.meetBreak(outcome.record);
  }

  /** Returns the point at which the call continues. */
  pointAfter(
    point: ResumePoint,
    { entry }: Break | NativeProgress,
    frames: readonly Frame[],
  ): ResumePoint {
    return entry ? point.after(entry, frames, this.points) : this.points.at(frames);
  }

  /**
   * Traces and compiles at this point. Undefined if it runs natively from now on; 'passed' if the code up to the next
   * tensor op has run natively instead.
   */
  #newAt(point: ResumePoint, frames: Frame[], owned: OwnedTensors): Entry | 'passed' | undefined {
    if (point.native !== null) return undefined;
    if (point.declines) return this.#reportPassing(point, frames);
    if (this.#stretches.passGraphless(point, frames, owned)) {
      this.#skipIfGraphless();
      return 'passed';
    }
    if (this.#compiler.isCrowded(point)) {
      // If many entries exist and none fits, only a recurring state is compiled, unless nothing may run eagerly.
      const returns = !this.#compiler.mayFallBack || point.returns(frames);
      if (!returns && this.#stretches.passCrowded(point, frames, owned)) return 'passed';
      this.#reportCrowded(point, frames);
      if (!returns) return undefined;
    }
    return this.#compile(point, frames);
  }

  #compile(point: ResumePoint, frames: readonly Frame[]): Entry | undefined {
    logMiss(this.#name, point, frames);
    this.#compiler.makeRoom(point);
    const known = this.parts.length;
    const found = this.#compiler.compile(point, frames);
    if (!isEntry(found)) return this.#runNatively(point, frames, found.why);
    for (const part of this.parts.slice(known)) {
      logPart(this.#name, part, this.parts.length - 1);
      const missed = missedBudget(part.stages?.recompute ?? null, this.#name);
      if (missed) warnOnce(missed);
    }
    for (const at of found.result.truthyTensors) {
      warnOnce(
        `the condition at ${formatPosition(at)} is a tensor, which is true whatever its value is: read the value with itemSync()`,
      );
    }
    logBreak(this.#name, found.result.outcome);
    this.#skipIfGraphless();
    // The trace knew none of the numbers that the run calls for.
    const isFor = found.result.called.length === 0 || found.find(frames) !== undefined;
    return isFor ? found : undefined;
  }

  /** Many traces without a graph, or calls whose host parts ran natively, show that there is nothing to compile. */
  #skipIfGraphless(): void {
    const { translations, graphs } = this.#stats;
    if (translations + this.#stretches.passed < graphlessLimit || graphs > 0 || this.skipped)
      return;
    if (this.parts.some(({ tooSmall }) => tooSmall)) return;
    this.#fallBack(`${graphlessLimit} traces have found no tensor op`, undefined);
    this.skipped = true;
  }

  #reportCrowded(point: ResumePoint, frames: readonly Frame[]): void {
    if (point.isCrowded) return;
    point.isCrowded = true;
    const cause = this.#compiler.lengths.cause ?? point.changes(frames);
    const why = `${point.size} different entries were compiled here and none fits; ${cause}`;
    if (this.#compiler.mayFallBack)
      this.#reportNative(frames, `${why}. From now on, a call is compiled when its state recurs`);
    else warnOnce(`${this.#name || 'a function'} is retraced again and again: ${why}`);
  }

  /** Runs sizes eagerly that haven't recurred so far, and warns the user once. */
  #reportPassing(point: ResumePoint, frames: readonly Frame[]): undefined {
    if (point.isPassed) return;
    point.isPassed = true;
    const why =
      'many sizes were compiled here, and new ones keep coming. From now on, sizes are compiled when they recur';
    this.#reportNative(frames, why);
  }

  #runNatively(point: ResumePoint, frames: readonly Frame[], why: string): undefined {
    // If nothing may run natively, throws at this and every later call.
    this.#reportNative(frames, why);
    point.native = why;
  }

  #reportNative(frames: readonly Frame[], why: string): void {
    const at = positionOf(frames);
    this.#fallBack(why, at);
    const where = at ? ` (${formatPosition(at)})` : '';
    warnOnce(`a part of ${this.#name || 'a function'}${where} runs as ordinary JavaScript: ${why}`);
  }

  /** Whether the loop around the point has reached it with a small segment too often; it then continues natively. */
  isTooMany(fragments: Fragments, point: ResumePoint, frames: readonly Frame[]): boolean {
    const count = (fragments.get(point) ?? 0) + 1;
    fragments.set(point, count);
    if (count < fragmentLimit) return false;
    const why = `a loop broke its graph ${fragmentLimit} times into segments of fewer than ${fragmentOps} ops`;
    this.#runNatively(point, frames, why);
    return true;
  }

  /** Runs the instructions of a graph that is too small eagerly, up to its break. */
  #runSmall({ result: { outcome } }: Entry, frames: Frame[], owned: OwnedTensors): Progress {
    const pc = outcome.kind === 'break' ? outcome.frames[frames.length - 1]?.pc : undefined;
    if (pc === undefined) return this.natively(frames, owned);
    const before = events.kernels;
    forgetCalls(frames);
    stepTo(frames, pc, owned, keepsNoOperand);
    this.#stats.eagerKernels += events.kernels - before;
    const top = frames[frames.length - 1]!;
    const atReturn = top.closure.code.instructions[top.pc]!.op === 'return';
    return atReturn ? this.natively(frames, owned) : { kind: 'moved', entry: undefined, frames };
  }

  /** Runs the instruction that isn't traced, and those after it on values that change as well. */
  step({ entry, frames }: Break, owned: OwnedTensors): void {
    const before = events.kernels;
    stepNatively(frames, owned, keepsNoOperand);
    this.#stats.eagerKernels += events.kernels - before;
    if (entry) this.#stretches.continue(entry, frames, owned);
  }

  /** Runs everything from here to the return or an `await`. */
  natively(frames: readonly Frame[], owned: OwnedTensors): Progress {
    const { value } = this.finish(frames, owned);
    if (!Suspended.is(value)) return { kind: 'return', value };
    // The callees of an async function have returned; only the outermost frame is suspended.
    const frame = frames[0]!;
    const instruction = frame.closure.code.instructions[frame.pc]!;
    // Nothing reads the register after this, so the machine may not have saved it.
    if (instruction.op === 'await' || instruction.op === 'yield') {
      frame.registers[instruction.src] = value.value;
    }
    return { kind: 'break', entry: undefined, frames: [frame] };
  }

  finish(frames: readonly Frame[], owned: OwnedTensors): { readonly value: unknown } {
    const before = events.kernels;
    try {
      return { value: finishNatively(frames, owned) };
    } finally {
      this.#stats.eagerKernels += events.kernels - before;
    }
  }
}

const onlyThrows = ({ result: { outcome } }: Entry): boolean =>
  outcome.kind === 'break' && outcome.onlyThrows === true;

/** Whether execution reached a break after a small segment. */
export function isFragment({ entry }: Break | NativeProgress): boolean {
  const ops = entry?.subgraph?.usual.stages.forward.ops.length ?? 0;
  return ops > 0 && ops < fragmentOps;
}

/** Like `runOrFail`, for an entry that writes no pre-existing tensor and can't stop midway. */
function runPlain(
  entry: Entry,
  frames: readonly Frame[],
  owned: OwnedTensors,
): EntryOutcome | string {
  try {
    return entry.run(frames, owned) ?? oneMemory;
  } catch (error) {
    if (!isRefused(error)) throw error;
    return refusedBecause(error);
  }
}

/** Returns the innermost position in the user's code: a builtin may be implemented in JavaScript by this package. */
function positionOf(frames: readonly Frame[]): UserPosition | undefined {
  const frame = frames.findLast(({ closure }) => !ownPartOfFile(closure.code.source.file));
  if (!frame) return undefined;
  const { spans, source } = frame.closure.code;
  // A caller's pc is already past its call.
  const span = spans[frame === frames.at(-1) ? frame.pc : frame.pc - 1];
  return span && source.position(span.start);
}
