import { ArgumentError, AutogradError, CaptureError, DataError } from '../runtime/errors/errors.ts';
import type { UserPosition } from '../runtime/errors/position.ts';
import { intercepted } from '../runtime/ops/bind.ts';
import { Subgraph } from '../runtime/run-program/run-program.ts';
import { type AnyFunction, findHomeObject, withCaptureSession } from './1-capture/capture.ts';
import { type CapturedCode, isRefused } from './3-trace/code-of.ts';
import { type RegionPhases, trace } from './3-trace/trace.ts';
import { differentiateRegion } from './4-differentiate/differentiate.ts';
import { normalize } from './5-optimize/normalize.ts';
import type { Frame } from './bytecode/frame.ts';
import { usesSuper } from './bytecode/uses-super.ts';
import { codeOf } from './code-cache.ts';
import { compileSubgraph } from './compile-subgraph.ts';
import type { Dynamic } from './guards/number-history.ts';
import type { CompiledPart } from './programs/compiled-part.ts';
import { type MemoryChoice, type MemoryOptions, memoryOptions } from './programs/memory-options.ts';
import type { SubgraphStages } from './programs/stages.ts';
import { awaitedBy, resumeWith } from './resume/async-frame.ts';
import { Entry, type EntryOutcome } from './resume/entry.ts';
import { activate } from './resume/function-of.ts';
import { finishNatively, stepNatively } from './resume/native.ts';
import { OwnedTensors } from './resume/owned-tensors.ts';
import { type ResumePoint, ResumePoints } from './resume/resume-point.ts';
import { SizedEntries } from './resume/sized-entries.ts';
import { SubgraphVariants } from './resume/subgraph-variants.ts';
import { Suspended } from './resume/suspended.ts';
import { catchIn } from './resume/unwind.ts';
import { type CapturedStats, StatsCounter } from './stats.ts';
import { isNotToStatic, toStaticEnabled } from './traces/policy.ts';
import type { Resized, TraceResult } from './traces/trace-result.ts';
import { warnOnce } from './warn-once.ts';

export interface ToStaticOptions {
  /** Values of the names around the function, where they can't be found otherwise. */
  readonly scope?: Readonly<Record<string, unknown>>;
  /** `error`: a function or part that would run as ordinary JavaScript throws CaptureError instead. */
  readonly fallback?: 'eager' | 'error';
  /**
   * Whether numbers and sizes may differ without another trace: `auto` (when left out) takes the first
   * value for a constant and lets a second one vary; `true` lets all vary, `false` none.
   */
  readonly dynamic?: Dynamic;
  /** Decisions on values of the program become branches and loops in it; what can't is an error. */
  readonly fullGraph?: boolean;
  /** Which clean-ups the memory plan makes: a preset's name or single switches. All when left out. */
  readonly memory?: MemoryChoice;
}

const regionPhases: RegionPhases = { normalize, differentiate: differentiateRegion };

/** More entries than this at one point: what the guards rely on changes with every call. */
const recompileLimit = 8;

/** After this many entries at one point, numbers that came out of a break are no constants any more. */
const volatileAfter = 4;

/**
 * A function that runs as planned subgraphs: each call walks from entry to entry. A guard hit goes
 * straight to compiled code; a miss traces; after a break one instruction runs natively, then tracing
 * goes on from there with the whole stack of frames.
 */
export class Captured {
  readonly fn: AnyFunction;
  readonly options: ToStaticOptions;
  /** What the user calls, and what a decorator puts into the class. */
  wrapper: AnyFunction | undefined;
  readonly #memory: MemoryOptions;
  readonly #points: ResumePoints;
  readonly #stats = new StatsCounter();
  readonly #parts: CompiledPart[] = [];
  /** Found at the first call: the scope of a function may not be initialised when it is wrapped. */
  #code: CapturedCode | null | undefined;

  constructor(fn: AnyFunction, options: ToStaticOptions) {
    this.fn = fn;
    this.options = options;
    this.#memory = memoryOptions(options.memory);
    this.#points = new ResumePoints(options.dynamic ?? 'auto');
  }

  call(thisValue: unknown, args: readonly unknown[]): unknown {
    this.#stats.calls++;
    if (!toStaticEnabled()) return Reflect.apply(this.fn, thisValue, args);
    this.#code ??= this.#capture();
    const code = this.#code && this.#withHomeObject(this.#code, thisValue);
    // Inside another captured function's trace or without code the function is what it always was.
    if (!code || intercepted()) return Reflect.apply(this.fn, thisValue, args);
    const { closure, boundThis, boundArgs } = code;
    const self = boundThis ? boundThis.value : thisValue;
    const frames = [activate(closure, self, [...boundArgs, ...args])];
    return closure.code.isAsync ? this.#runAsync(frames) : this.#run(frames);
  }

  /** The function's bytecode, for printing; null when it can't be captured. */
  get code(): CapturedCode | null {
    this.#code ??= this.#capture();
    return this.#code;
  }

  /** As the user wrote it, once that is known. */
  get name(): string {
    return this.#code?.closure.code.name || this.fn.name;
  }

  get parts(): readonly CompiledPart[] {
    return this.#parts;
  }

  stats(): CapturedStats {
    return this.#stats.snapshot();
  }

  #capture(): CapturedCode | null {
    if (isNotToStatic(this.fn)) {
      this.#fallBack(`${this.fn.name || 'the function'} is marked with notToStatic()`, undefined);
      return null;
    }
    const found = codeOf(this.fn, this.options);
    if (!isRefused(found)) return found;
    const name = this.fn.name || 'the function';
    this.#fallBack(`${name} is not captured: ${found.why}`, undefined);
    warnOnce(`${name} runs as ordinary JavaScript, op by op. ${found.why}`);
    return null;
  }

  /** A decorated method is not in its class yet when it is captured: `super` is found by a receiver. */
  #withHomeObject(code: CapturedCode, receiver: unknown): CapturedCode | null {
    const { closure } = code;
    if (closure.homeObject || !usesSuper(closure.code)) return code;
    const homeObject =
      findHomeObject(this.fn, receiver) ?? (this.wrapper && findHomeObject(this.wrapper, receiver));
    if (homeObject) {
      this.#code = { ...code, closure: { ...closure, homeObject } };
      return this.#code;
    }
    this.#fallBack(`${this.fn.name} uses super, and its class cannot be found`, undefined);
    return null;
  }

  #fallBack(why: string, at: UserPosition | undefined): void {
    if (this.options.fallback === 'error') {
      throw new CaptureError({
        what: 'toStatic: a part would run as ordinary JavaScript',
        given: why,
        expected: "code that can be captured, since fallback is 'error'",
        remedy: "rewrite that part, or allow it with fallback: 'eager'",
        at,
      });
    }
    this.#stats.addFallback({ why, at });
  }

  #run(initial: Frame[]): unknown {
    const owned = new OwnedTensors();
    let frames = initial;
    try {
      let point = this.#points.at(frames);
      for (;;) {
        const way = this.#walk(point, frames, owned);
        if (way.kind === 'return') return way.value;
        frames = way.frames;
        stepNatively(frames, owned);
        point = this.#pointAfter(point, way, frames);
      }
    } finally {
      owned.disposeAll();
    }
  }

  /** An async function: at an `await` it gives up control here, with its frame as data. */
  async #runAsync(initial: Frame[]): Promise<unknown> {
    const owned = new OwnedTensors();
    let frames = initial;
    try {
      let point = this.#points.at(frames);
      for (;;) {
        const way = this.#walk(point, frames, owned);
        if (way.kind === 'return') return way.value;
        frames = way.frames;
        const frame = frames[frames.length - 1]!;
        const awaited = awaitedBy(frame);
        if (awaited) {
          owned.escape(awaited.value);
          try {
            resumeWith(frame, await awaited.value);
          } catch (error) {
            if (!catchIn(frame, frame.pc, error)) throw error;
          }
        } else stepNatively(frames, owned);
        point = this.#pointAfter(point, way, frames);
      }
    } finally {
      owned.disposeAll();
    }
  }

  /** From a resume point to the return, or to an instruction that isn't traced. */
  #walk(point: ResumePoint, frames: readonly Frame[], owned: OwnedTensors): Way {
    const entry = point.find(frames) ?? this.#translate(point, frames);
    if (!entry) return natively(frames, owned);
    if (entry.subgraph) this.#stats.graphRuns++;
    const outcome = runOrFail(entry, frames, owned);
    // An op has found fault with its values: it is eager execution that tells where and to whom.
    if (!outcome) return natively(frames, owned);
    return outcome.kind === 'return' ? outcome : { kind: 'break', entry, frames: outcome.frames };
  }

  #pointAfter(point: ResumePoint, { entry }: Break, frames: readonly Frame[]): ResumePoint {
    return entry ? point.after(entry, frames, this.#points) : this.#points.at(frames);
  }

  /** Undefined when this point runs natively from now on. */
  #translate(point: ResumePoint, frames: readonly Frame[]): Entry | undefined {
    if (point.native !== null) return undefined;
    if (point.entries.length >= recompileLimit) {
      const why = `${recompileLimit} different entries were compiled here and none fits`;
      return this.#runNatively(
        point,
        frames,
        `${why}; what the guards rely on changes with every call`,
      );
    }
    const numbersAreVolatile = point.entries.length >= volatileAfter;
    const result = withCaptureSession(() =>
      trace(frames, codeOf, {
        history: point.history,
        numbersAreVolatile,
        controlPolicy: this.options.fullGraph ? 'always' : 'functions',
        regions: regionPhases,
      }),
    );
    this.#stats.translations++;
    const entry =
      this.#sizedEntry(point, frames, result.resized) ?? this.#fixedEntry(point, result);
    if (!entry) {
      return this.#runNatively(point, frames, 'a value that backward needs is written in place');
    }
    if (result.outcome.kind === 'break') this.#stats.addBreak(result.outcome.record);
    return entry;
  }

  /** An entry for the sizes that were traced. */
  #fixedEntry(point: ResumePoint, result: TraceResult): Entry | null {
    const stages = compileOps(result, this.#memory);
    if (stages === 'overwritten') return null;
    const entry = this.#entryOf(result, stages);
    this.#addPart({ trace: entry.result, stages });
    point.add(entry);
    return entry;
  }

  /** The same for a trace that does for other sizes: each set of them is compiled when it comes. */
  #sizedEntry(
    point: ResumePoint,
    frames: readonly Frame[],
    resized: Resized | null,
  ): Entry | undefined {
    if (!resized) return undefined;
    let isFirst = true;
    const sized = new SizedEntries(resized, (result) => {
      const stages = compileOps(result, this.#memory);
      if (stages === 'overwritten') return null;
      const entry = this.#entryOf(result, stages);
      const guards = [...resized.guards, ...result.guards];
      if (isFirst) this.#addPart({ trace: { ...result, guards }, stages });
      isFirst = false;
      this.#stats.sizes++;
      return entry;
    });
    const entry = sized.find(frames);
    if (entry) point.add(sized);
    return entry;
  }

  #entryOf(result: TraceResult, stages: SubgraphStages | null): Entry {
    const subgraph = stages && this.#variants(result, stages);
    return new Entry(result, subgraph, this.#memory.donate);
  }

  #addPart(part: CompiledPart): void {
    this.#parts.push(part);
    if (!part.stages) return;
    this.#stats.graphs++;
    this.#stats.ops += part.stages.forward.ops.length;
  }

  #variants(result: TraceResult, { planned }: SubgraphStages): SubgraphVariants {
    return new SubgraphVariants(new Subgraph(planned), ({ donated, sourceOrder }) => {
      const memory = sourceOrder ? { ...this.#memory, order: false } : this.#memory;
      const stages = compileSubgraph(result.program, result, memory, donated);
      return new Subgraph(stages.planned);
    });
  }

  #runNatively(point: ResumePoint, frames: readonly Frame[], why: string): undefined {
    point.native = why;
    this.#fallBack(why, positionOf(frames));
  }
}

interface Break {
  readonly kind: 'break';
  /** Undefined: the way was native, to an `await`. */
  readonly entry: Entry | undefined;
  readonly frames: Frame[];
}

type Way = { readonly kind: 'return'; readonly value: unknown } | Break;

function natively(frames: readonly Frame[], owned: OwnedTensors): Way {
  const value = finishNatively(frames, owned);
  if (!(value instanceof Suspended)) return { kind: 'return', value };
  // What an async function calls has returned: it is the outermost frame that waits.
  return { kind: 'break', entry: undefined, frames: [frames[0]!] };
}

/** Undefined when a kernel refused the values that it got and nothing of the user's was written yet. */
function runOrFail(
  entry: Entry,
  frames: readonly Frame[],
  owned: OwnedTensors,
): EntryOutcome | undefined {
  const written = entry.writes(frames);
  const versions = written.map((holder) => holder.version);
  try {
    return entry.run(frames, owned);
  } catch (error) {
    const refused = error instanceof ArgumentError || error instanceof DataError;
    // Once a tensor was written in place, running it all again would write twice.
    if (refused && written.every((holder, i) => holder.version === versions[i])) return undefined;
    throw error;
  }
}

/**
 * Phases 4 to 7; null when there is nothing to run. `overwritten`: the program writes over a value that
 * its own backward would need, which is a mistake only once somebody asks for that backward.
 */
function compileOps(
  result: TraceResult,
  memory: MemoryOptions,
): SubgraphStages | 'overwritten' | null {
  const { program } = result;
  const writes = program.ops.some(({ op }) => op.inPlace);
  if (program.outputs.length === 0 && !writes) return null;
  try {
    return compileSubgraph(program, result, memory);
  } catch (error) {
    if (writes && error instanceof AutogradError) return 'overwritten';
    throw error;
  }
}

function positionOf(frames: readonly Frame[]): UserPosition | undefined {
  const { closure, pc } = frames[frames.length - 1]!;
  const span = closure.code.spans[pc];
  return span && closure.code.source.position(span.start);
}
