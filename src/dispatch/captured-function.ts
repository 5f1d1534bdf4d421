import { ArgumentError, CaptureError } from '../../runtime/errors/errors.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import { checkInputs } from '../../runtime/input-spec/check.ts';
import { events } from '../../runtime/memory/events.ts';
import { interceptor } from '../../runtime/ops/core/bind.ts';
import { CallTrace } from '../../runtime/ops/core/call-trace.ts';
import { spans } from '../../runtime/profiler/spans.ts';
import { findHomeObject } from '../1-capture/capture.ts';
import type { AnyFunction } from '../1-capture/script/route.ts';
import { type CapturedCode, isRefused } from '../3-trace/variables/code-of.ts';
import { logFallback } from '../explain/log-events.ts';
import { warn, warnOnce } from '../explain/warn-once.ts';
import type { Dynamic } from '../guards/number-history.ts';
import { type ShapeBounds, shapeBounds } from '../guards/shape-bounds.ts';
import {
  type StaticSettings,
  settingsOf,
  type ToStaticOptions,
} from '../options/static-options.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import { type CapturedStats, StatsCounter } from '../stats.ts';
import { isNotToStatic, toStaticEnabled } from '../traces/policy.ts';
import { usesSuper } from '../vm/bytecode/arrow-uses.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { activate } from '../vm/frames/activation.ts';
import { generate, runAsync, runToReturn } from './call-protocols.ts';
import { codeOf } from './code-cache.ts';
import { type ColdCalls, coldCallsOf } from './cold-calls.ts';
import { EntryDispatcher } from './entry-dispatcher.ts';
import { FrameCompiler } from './frame-compiler.ts';
import { type ResumePoint, ResumePoints } from './resume-point.ts';
import type { StaticRecord } from './static-functions.ts';
import { type BudgetMissed, StepBudget } from './step-budget.ts';

export type { ToStaticOptions } from '../options/static-options.ts';

/** The calls of a function before the compiler was loaded. */
interface EarlierCalls {
  readonly stats: StatsCounter;
  readonly cold: ColdCalls | null;
}

/**
 * A function that runs as planned subgraphs: each call goes from entry to entry. A guard hit runs compiled code; a
 * miss traces; after a break one instruction runs natively, and tracing continues from there with the whole stack
 * of frames.
 */
export class Captured implements StaticRecord {
  readonly fn: AnyFunction;
  readonly options: ToStaticOptions;
  wrapper: AnyFunction | undefined;
  readonly captured = this;
  readonly #settings: StaticSettings;
  readonly #stats: StatsCounter;
  readonly #dispatcher: EntryDispatcher;
  /** Null once the function is compiled at its next call. */
  #cold: ColdCalls | null;
  /** Found at the first call: when a function is wrapped, its scope may not be initialized yet. */
  #code: CapturedCode | null | undefined;
  /** The code and the point of its first instruction, once no more lookups are needed. */
  #start: { readonly code: CapturedCode; readonly point: ResumePoint } | undefined;

  constructor(fn: AnyFunction, options: ToStaticOptions, earlier?: EarlierCalls) {
    this.fn = fn;
    this.options = options;
    this.#settings = settingsOf(options);
    this.#stats = earlier?.stats ?? new StatsCounter();
    this.#cold = earlier ? earlier.cold : coldCallsOf(fn, options, this.#settings);
    const { budget } = this.#settings.compile.memory;
    this.#dispatcher = new EntryDispatcher(
      fn.name,
      new ResumePoints(this.#settings.dynamic, () => this.#bounds),
      this.#stats,
      new FrameCompiler(this.#settings, this.#stats),
      (why, at) => this.#fallBack(why, at),
      budget === null ? null : new StepBudget(budget, (missed) => this.#missBudget(missed)),
    );
  }

  #sizes: ShapeBounds | undefined;

  get #bounds(): ShapeBounds {
    const bound = this.#code?.boundArgs.length ?? 0;
    this.#sizes ??= shapeBounds(this.options.inputSpec ?? [], bound);
    return this.#sizes;
  }

  call(thisValue: unknown, args: readonly unknown[]): unknown {
    return spans.active ? this.#callInSpan(thisValue, args) : this.#call(thisValue, args);
  }

  #callInSpan(thisValue: unknown, args: readonly unknown[]): unknown {
    const span = { kind: 'program', name: `call ${this.fn.name}`, device: 'host' } as const;
    return spans.around(span, () => this.#call(thisValue, args));
  }

  #call(thisValue: unknown, args: readonly unknown[]): unknown {
    this.#stats.calls++;
    const { inputSpec } = this.options;
    if (inputSpec) checkInputs(inputSpec, args);
    if (this.#runsAsItIs) return Reflect.apply(this.fn, thisValue, args);
    if (this.#cold?.areEnough) this.#cold = null;
    if (this.#cold) {
      this.#stats.coldCalls++;
      return this.#cold.run(() => Reflect.apply(this.fn, thisValue, args));
    }
    this.#dispatcher.begin();
    const frames = this.#framesOf(thisValue, args);
    if (!frames) return this.#coExecute(thisValue, args);
    const { code } = frames[0]!.closure;
    if (this.#dispatcher.awaitsRuns && (code.isGenerator || !code.isAsync)) throw this.#notAsync();
    if (code.isGenerator) {
      return generate(this.#dispatcher, frames[0]!, this.fn, () => this.#runsAsItIs);
    }
    const run = code.isAsync ? runAsync : runToReturn;
    return run(this.#dispatcher, this.#start!.point, frames);
  }

  /** Returns the entry point of a call, and its frames; null for a function that can't be captured. */
  startOf(
    thisValue: unknown,
    args: readonly unknown[],
  ): { readonly point: ResumePoint; readonly frames: Frame[] } | null {
    const frames = this.#framesOf(thisValue, args);
    return frames && { point: this.#start!.point, frames };
  }

  /** Returns the frames with which a call starts at `#start`; null for a function that can't be captured. */
  #framesOf(thisValue: unknown, args: readonly unknown[]): Frame[] | null {
    const code = this.#start?.code ?? this.#codeFor(thisValue);
    if (!code) return null;
    const { closure, boundThis, boundArgs } = code;
    const self = boundThis ? boundThis.value : thisValue;
    const given = boundArgs.length > 0 ? [...boundArgs, ...args] : args;
    const frames = [activate(closure, self, given)];
    this.#start ??= { code, point: this.#dispatcher.points.at(frames) };
    return frames;
  }

  /** Without source or scope, runs the function itself and compares its ops with those of earlier calls. */
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

  /** Whether the function runs uncaptured: capturing is disabled, finds no graph, or happens inside another trace. */
  get #runsAsItIs(): boolean {
    return !toStaticEnabled || this.#dispatcher.skipped || interceptor !== null;
  }

  /** The function's bytecode, for printing; null if it can't be captured. */
  get code(): CapturedCode | null {
    this.#code ??= this.#capture();
    return this.#code;
  }

  /** The function's name in the user's code, once it is known. */
  get name(): string {
    return this.#code?.closure.code.name || this.fn.name;
  }

  get parts(): readonly CompiledPart[] {
    return this.#dispatcher.parts;
  }

  get dynamic(): Dynamic {
    return this.#settings.dynamic;
  }

  get memory(): MemoryOptions {
    return this.#settings.memory;
  }

  /** Resolves when all checks so far have compared their values; rejects with CheckError. */
  async checked(): Promise<void> {
    await this.#stats.checks?.settled();
  }

  /** Resolves when the final plans of everything compiled are used. */
  async ready(): Promise<void> {
    for (const point of this.#dispatcher.points) for (const entry of point.entries) entry.finish();
  }

  async warmUp(thisValue: unknown, args: readonly unknown[]): Promise<void> {
    const { inputSpec } = this.options;
    if (inputSpec) checkInputs(inputSpec, args);
    this.#cold = null;
    const at = this.#runsAsItIs ? null : this.startOf(thisValue, args);
    if (!at) return;
    const { point, frames } = at;
    if (frames[0]!.closure.code.isGenerator) throw generatorNotWarmedUp(this.name);
    this.#dispatcher.prepare(point, frames);
    await this.ready();
  }

  stats(): CapturedStats {
    const stepBytes = this.#dispatcher.stepBytes;
    return { ...this.#stats.snapshot(), ...(stepBytes !== undefined && { stepBytes }) };
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

  /** Returns the code, complete for a call; null for a function that can't be captured. */
  #codeFor(receiver: unknown): CapturedCode | null {
    this.#code ??= this.#capture();
    return this.#code && this.#withHomeObject(this.#code, receiver);
  }

  /** A decorated method is not in its class yet when it is captured: `super` is found through a receiver. */
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

  #notAsync(): ArgumentError {
    const { name } = this.#settings.compile.backend!;
    return new ArgumentError({
      what: `toStatic: the backend '${name}' runs graphs asynchronously`,
      given: `${this.name || 'a function'}, which returns before a graph could have run`,
      expected: 'an async function',
      remedy: `write async ${this.name || '(…)'} and await it, or use a backend that runs at once`,
    });
  }

  /** Warns, or returns the error that the next call throws. */
  #missBudget({ needed, count, isLast }: BudgetMissed): ArgumentError | null {
    const budget = this.#settings.compile.memory.budget!;
    const name = this.name || 'a function';
    const step = `a step of ${name} needed ${needed} bytes beside its inputs, ${needed - budget} more than its memory budget`;
    if (isLast) {
      warn(`${step}; it was the last one, and counts what followed`);
      return null;
    }
    if (count === 1) {
      warnOnce(
        `${step}: what its graphs keep for backward shows when they have run; later steps share the budget`,
      );
      return null;
    }
    if (this.#settings.fallback === 'eager') {
      // Avoids repetition in a long run: each warning comes after twice as many steps as the previous one.
      if ((count & (count - 1)) === 0)
        warn(count === 2 ? step : `${step}, as ${count} steps have so far`);
      return null;
    }
    return new ArgumentError({
      what: 'toStatic: a step exceeds its memory budget',
      given: `${needed} bytes, of a budget of ${budget}`,
      expected: "a step within the budget, since fallback is 'error'",
      remedy: "use a larger budget or fewer graph breaks, or allow it with fallback: 'eager'",
    });
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
}

function generatorNotWarmedUp(name: string): ArgumentError {
  return new ArgumentError({
    what: 'toStatic.warmup: a generator function compiles when values are requested',
    given: `the generator function ${name}`,
    expected: 'a captured function, async function or method',
    remedy: 'warm up the captured functions that it calls',
  });
}
