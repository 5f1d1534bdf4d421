import { ArgumentError, CaptureError, DataError } from '../runtime/errors/errors.ts';
import { formatPosition, type UserPosition } from '../runtime/errors/position.ts';
import { checkInputs } from '../runtime/input-spec/check.ts';
import { events } from '../runtime/memory/events.ts';
import { intercepted } from '../runtime/ops/bind.ts';
import { CallTrace } from '../runtime/ops/call-trace.ts';
import { spans } from '../runtime/profiler/spans.ts';
import { type AnyFunction, endLongCaptureSession, findHomeObject } from './1-capture/capture.ts';
import { isTensorFunction } from './3-trace/api.ts';
import { type CapturedCode, isRefused } from './3-trace/code-of.ts';
import type { Frame } from './bytecode/frame.ts';
import { usesSuper } from './bytecode/uses-super.ts';
import { codeOf } from './code-cache.ts';
import { logBreak, logFallback, logMiss, logPart } from './explain/log-events.ts';
import { promisedSizes } from './guards/promised-sizes.ts';
import type { CompiledPart } from './programs/compiled-part.ts';
import { awaitedBy, resumeWith } from './resume/async-frame.ts';
import type { Entry, EntryOutcome } from './resume/entry.ts';
import { activate } from './resume/function-of.ts';
import { generatorOver, suspensionOf } from './resume/generator-frame.ts';
import { finishNatively, stepNatively, stepTo } from './resume/native.ts';
import { OwnedTensors } from './resume/owned-tensors.ts';
import { putDown } from './resume/put-down.ts';
import { type ResumePoint, ResumePoints } from './resume/resume-point.ts';
import { Suspended } from './resume/suspended.ts';
import { catchIn } from './resume/unwind.ts';
import type { CompiledFunction } from './save/program-to-save.ts';
import { type StaticSettings, settingsOf, type ToStaticOptions } from './static-options.ts';
import { type CapturedStats, StatsCounter } from './stats.ts';
import { isNotToStatic, toStaticEnabled } from './traces/policy.ts';
import { isEntry, Translator } from './translator.ts';
import { warnOnce } from './warn-once.ts';

export type { ToStaticOptions } from './static-options.ts';

/** A function of which so many traces have found no graph runs as ordinary JavaScript from then on. */
const graphlessLimit = 10;

/** So many small segments at one point in one call: the loop around it goes on natively. */
const fragmentLimit = 64;

/** Segments of fewer ops than this are small. */
const fragmentOps = 4;

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
  readonly #settings: StaticSettings;
  readonly #points: ResumePoints;
  readonly #stats = new StatsCounter();
  readonly #translator: Translator;
  /** Found at the first call: the scope of a function may not be initialised when it is wrapped. */
  #code: CapturedCode | null | undefined;
  /** No trace has found a graph: it runs as it is. */
  #skipped = false;
  /** The point of the first instruction, and the code that it belongs to. */
  #start: { readonly code: CapturedCode; readonly point: ResumePoint } | undefined;

  constructor(fn: AnyFunction, options: ToStaticOptions) {
    this.fn = fn;
    this.options = options;
    this.#settings = settingsOf(options);
    this.#points = new ResumePoints(this.#settings.dynamic, promisedSizes(options.inputSpec ?? []));
    this.#translator = new Translator(this.#settings, this.#stats);
  }

  call(thisValue: unknown, args: readonly unknown[]): unknown {
    if (!spans.active) return this.#call(thisValue, args);
    const span = { kind: 'program', name: `call ${this.fn.name}`, device: 'host' } as const;
    return spans.around(span, () => this.#call(thisValue, args));
  }

  #call(thisValue: unknown, args: readonly unknown[]): unknown {
    this.#stats.calls++;
    const { inputSpec } = this.options;
    if (inputSpec) checkInputs(inputSpec, args);
    if (this.#runsAsItIs) return Reflect.apply(this.fn, thisValue, args);
    this.#code ??= this.#capture();
    const code = this.#code && this.#withHomeObject(this.#code, thisValue);
    if (!code) return this.#coExecute(thisValue, args);
    const { closure, boundThis, boundArgs } = code;
    const self = boundThis ? boundThis.value : thisValue;
    const given = boundArgs.length > 0 ? [...boundArgs, ...args] : args;
    const frames = [activate(closure, self, given)];
    if (closure.code.isGenerator) return this.#generate(frames[0]!);
    if (this.#start?.code !== code) this.#start = { code, point: this.#points.at(frames) };
    const { point } = this.#start;
    return closure.code.isAsync ? this.#runAsync(point, frames) : this.#run(point, frames);
  }

  /** Without source or scope: it runs by itself, and its ops are compared with those of earlier calls. */
  #coExecute(thisValue: unknown, args: readonly unknown[]): unknown {
    if (isNotToStatic(this.fn)) return Reflect.apply(this.fn, thisValue, args);
    this.#stats.callTrace ??= new CallTrace();
    const before = events.kernels;
    try {
      return this.#stats.callTrace.around(() => Reflect.apply(this.fn, thisValue, args));
    } finally {
      this.#stats.eagerKernels += events.kernels - before;
    }
  }

  /** Switched off, without graphs, or inside another captured function's trace it is what it always was. */
  get #runsAsItIs(): boolean {
    return !toStaticEnabled() || this.#skipped || intercepted();
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
    return this.#translator.parts;
  }

  /** What is compiled for calls on this receiver, and the frame of such a call, to save it. */
  compiledFor(thisValue: unknown): CompiledFunction | null {
    const code = this.code && this.#withHomeObject(this.code, thisValue);
    if (!code) return null;
    const { closure, boundThis, boundArgs } = code;
    const frames = [activate(closure, boundThis ? boundThis.value : thisValue, boundArgs)];
    const { name } = this;
    const inputSpec = this.options.inputSpec ?? null;
    const entries = this.#points.at(frames).entries.flatMap(({ compiled }) => compiled);
    return { name, inputSpec, entries, frames, bound: boundArgs.length };
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
    if (this.#settings.fallback === 'error') {
      throw new CaptureError({
        what: 'toStatic: a part would run as ordinary JavaScript',
        given: why,
        expected: "code that can be captured, since fallback is 'error'",
        remedy: "rewrite that part, or allow it with fallback: 'eager'",
        at,
      });
    }
    this.#stats.addFallback({ why, at });
    logFallback(this.fn.name, why, at);
  }

  #run(start: ResumePoint, initial: Frame[]): unknown {
    const owned = new OwnedTensors();
    let [point, frames] = [start, initial];
    let fragments: Fragments | undefined;
    try {
      for (;;) {
        const way = this.#walk(point, frames, owned);
        if (way.kind === 'return') return way.value;
        frames = way.frames;
        if (isFragment(way)) {
          fragments ??= new Map();
          if (this.#isTooMany(fragments, point, frames)) return this.#finish(frames, owned).value;
        }
        if (way.kind === 'break') this.#step(frames, owned);
        point = this.#pointAfter(point, way, frames);
      }
    } finally {
      owned.disposeAll();
    }
  }

  /** An async function: at an `await` it gives up control here, with its frame as data. */
  async #runAsync(start: ResumePoint, initial: Frame[]): Promise<unknown> {
    const owned = new OwnedTensors();
    let [point, frames] = [start, initial];
    try {
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
        } else if (way.kind === 'break') this.#step(frames, owned);
        point = this.#pointAfter(point, way, frames);
      }
    } finally {
      owned.disposeAll();
    }
  }

  /** The parameters are taken now, natively; the body runs when values are asked for. */
  #generate(frame: Frame): unknown {
    const owned = new OwnedTensors();
    this.#finish([frame], owned);
    frame.pc++;
    const generator = generatorOver(frame, (each) => this.#advance(each, owned));
    const { fn = this.fn } = frame.closure;
    const { prototype } = fn as AnyFunction;
    return prototype instanceof Object ? Object.setPrototypeOf(generator, prototype) : generator;
  }

  /** The frame of a generator, to its next `yield` or `await` or its return. */
  #advance(frame: Frame, owned: OwnedTensors): unknown {
    if (this.#runsAsItIs) return this.#finish([frame], owned).value;
    let frames = [{ ...frame, registers: [...frame.registers] }];
    try {
      let point = this.#points.at(frames);
      for (;;) {
        const way = this.#walk(point, frames, owned);
        if (way.kind === 'return') {
          owned.disposeAll();
          return way.value;
        }
        frames = way.frames;
        const suspended = frames.length === 1 ? suspensionOf(frames[0]!) : undefined;
        if (suspended) {
          owned.escape(suspended.value);
          putDown(frames[0]!, frame);
          return suspended;
        }
        if (way.kind === 'break') this.#step(frames, owned);
        point = this.#pointAfter(point, way, frames);
      }
    } catch (error) {
      owned.disposeAll();
      throw error;
    }
  }

  /** From a resume point to the return, or to an instruction that isn't traced. */
  #walk(point: ResumePoint, frames: Frame[], owned: OwnedTensors): Way {
    const known = point.find(frames);
    if (known) endLongCaptureSession();
    const entry = known ?? this.#translate(point, frames);
    if (!entry) return this.#natively(frames, owned);
    if (entry.runsEagerly) {
      this.#meetBreak(entry);
      return this.#natively(frames, owned);
    }
    if (entry.part.tooSmall) return this.#runSmall(entry, frames, owned);
    const before = events.kernels;
    const outcome = runOrFail(entry, frames, owned);
    if (entry.subgraph) {
      this.#stats.graphRuns++;
      this.#stats.staticKernels += events.kernels - before;
    }
    // An op has found fault with its values: it is eager execution that tells where and to whom.
    if (!outcome) return this.#natively(frames, owned);
    if (outcome.kind === 'return') return outcome;
    this.#meetBreak(entry);
    return { kind: 'break', entry, frames: outcome.frames };
  }

  #meetBreak({ result: { outcome } }: Entry): void {
    if (outcome.kind === 'break') this.#stats.meetBreak(outcome.record);
  }

  #pointAfter(point: ResumePoint, { entry }: Break | Moved, frames: readonly Frame[]): ResumePoint {
    return entry ? point.after(entry, frames, this.#points) : this.#points.at(frames);
  }

  /** Undefined when this point runs natively from now on. */
  #translate(point: ResumePoint, frames: readonly Frame[]): Entry | undefined {
    if (point.native !== null) return undefined;
    logMiss(this.fn.name, point, frames);
    const known = this.parts.length;
    const found = this.#translator.translate(point, frames);
    if (!isEntry(found)) return this.#runNatively(point, frames, found.why);
    for (const part of this.parts.slice(known)) logPart(this.fn.name, part, this.parts.length - 1);
    logBreak(this.fn.name, found.result.outcome);
    const { translations, graphs } = this.#stats;
    const isSmall = this.parts.some(({ tooSmall }) => tooSmall);
    if (translations >= graphlessLimit && graphs === 0 && !isSmall) {
      this.#skipped = true;
      this.#fallBack(`${graphlessLimit} traces have found no tensor op`, undefined);
    }
    return found;
  }

  #runNatively(point: ResumePoint, frames: readonly Frame[], why: string): undefined {
    point.native = why;
    const at = positionOf(frames);
    this.#fallBack(why, at);
    const place = at ? ` (${formatPosition(at)})` : '';
    warnOnce(
      `a part of ${this.fn.name || 'a function'}${place} runs as ordinary JavaScript: ${why}`,
    );
  }

  /** True when the loop around the point has come to it too often; then it goes on natively. */
  #isTooMany(fragments: Fragments, point: ResumePoint, frames: readonly Frame[]): boolean {
    const count = (fragments.get(point) ?? 0) + 1;
    fragments.set(point, count);
    if (count < fragmentLimit) return false;
    const why = `a loop broke its graph ${fragmentLimit} times into segments of fewer than ${fragmentOps} ops`;
    this.#runNatively(point, frames, why);
    return true;
  }

  /** The instructions of a graph that is too small run eagerly, up to its break. */
  #runSmall({ result: { outcome } }: Entry, frames: Frame[], owned: OwnedTensors): Way {
    const pc = outcome.kind === 'break' ? outcome.frames[frames.length - 1]?.pc : undefined;
    if (pc === undefined) return this.#natively(frames, owned);
    const before = events.kernels;
    stepTo(frames, pc, owned, isTensorFunction);
    this.#stats.eagerKernels += events.kernels - before;
    const top = frames[frames.length - 1]!;
    const atReturn = top.closure.code.instructions[top.pc]!.op === 'return';
    return atReturn ? this.#natively(frames, owned) : { kind: 'moved', entry: undefined, frames };
  }

  #step(frames: Frame[], owned: OwnedTensors): void {
    const before = events.kernels;
    stepNatively(frames, owned, isTensorFunction);
    this.#stats.eagerKernels += events.kernels - before;
  }

  #natively(frames: readonly Frame[], owned: OwnedTensors): Way {
    const { value } = this.#finish(frames, owned);
    if (!Suspended.is(value)) return { kind: 'return', value };
    // What an async function calls has returned: it is the outermost frame that waits.
    return { kind: 'break', entry: undefined, frames: [frames[0]!] };
  }

  #finish(frames: readonly Frame[], owned: OwnedTensors): { readonly value: unknown } {
    const before = events.kernels;
    try {
      return { value: finishNatively(frames, owned) };
    } finally {
      this.#stats.eagerKernels += events.kernels - before;
    }
  }
}

interface Break {
  readonly kind: 'break';
  /** Undefined: the way was native, to an `await`. */
  readonly entry: Entry | undefined;
  readonly frames: Frame[];
}

/** Execution has come, natively, to another instruction. */
interface Moved {
  readonly kind: 'moved';
  readonly entry: undefined;
  readonly frames: Frame[];
}

type Way = { readonly kind: 'return'; readonly value: unknown } | Break | Moved;

/** How often one call has come to each point with a small segment. */
type Fragments = Map<ResumePoint, number>;

function isFragment({ entry }: Break | Moved): boolean {
  const ops = entry?.subgraph ? entry.part.stages!.forward.ops.length : 0;
  return ops > 0 && ops < fragmentOps;
}

/** Undefined when a kernel refused the values that it got and nothing of the user's was written yet. */
function runOrFail(
  entry: Entry,
  frames: readonly Frame[],
  owned: OwnedTensors,
): EntryOutcome | undefined {
  const written = entry.writes(frames);
  const versions = written.length > 0 ? written.map((holder) => holder.version) : none;
  try {
    return entry.run(frames, owned);
  } catch (error) {
    const refused = error instanceof ArgumentError || error instanceof DataError;
    // Once a tensor was written in place, running it all again would write twice.
    if (refused && written.every((holder, i) => holder.version === versions[i])) return undefined;
    throw error;
  }
}

const none: readonly number[] = [];

function positionOf(frames: readonly Frame[]): UserPosition | undefined {
  const { closure, pc } = frames[frames.length - 1]!;
  const span = closure.code.spans[pc];
  return span && closure.code.source.position(span.start);
}
