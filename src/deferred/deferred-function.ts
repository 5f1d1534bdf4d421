import { CaptureError } from '../../runtime/errors/errors.ts';
import { plural } from '../../runtime/errors/plural.ts';
import { checkInputs } from '../../runtime/input-spec/check.ts';
import { interceptor } from '../../runtime/ops/core/bind.ts';
import type { AnyFunction } from '../1-capture/script/route.ts';
import type { Captured } from '../dispatch/captured-function.ts';
import { type ColdCalls, coldCallsOf, keepsBudget } from '../dispatch/cold-calls.ts';
import type { StaticRecord } from '../dispatch/static-functions.ts';
import type { ExplainOptions } from '../explain/explain-options.ts';
import { type CaptureSettings, captureSettings } from '../options/capture-settings.ts';
import type { ToStaticOptions } from '../options/static-options.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import { type CapturedStats, StatsCounter } from '../stats.ts';
import { toStaticEnabled } from '../traces/policy.ts';
import type { Compiler, LateCompiler } from './late-compiler.ts';

/**
 * A function whose calls run eagerly until the compiler is loaded, and as planned programs from then on. With
 * `compile: 'hot'` the compiler isn't requested until compiling pays off.
 */
export class DeferredFunction implements StaticRecord {
  readonly fn: AnyFunction;
  readonly options: ToStaticOptions;
  wrapper: AnyFunction | undefined;
  readonly #compiler: LateCompiler;
  readonly #settings: CaptureSettings;
  readonly #stats = new StatsCounter();
  readonly #cold: ColdCalls | null;
  #captured: Captured | null = null;

  constructor(fn: AnyFunction, options: ToStaticOptions, compiler: LateCompiler) {
    this.fn = fn;
    this.options = options;
    this.#compiler = compiler;
    this.#settings = captureSettings(options);
    this.#cold = coldCallsOf(fn, options, this.#settings);
  }

  get captured(): Captured | null {
    return this.#captured ?? (this.#compiler.now && this.#capturedBy(this.#compiler.now));
  }

  #capturedBy({ Captured }: Compiler): Captured {
    if (this.#captured) return this.#captured;
    const captured = new Captured(this.fn, this.options, { stats: this.#stats, cold: this.#cold });
    captured.wrapper = this.wrapper;
    this.#captured = captured;
    return captured;
  }

  call(thisValue: unknown, args: readonly unknown[]): unknown {
    const { captured } = this;
    return captured ? captured.call(thisValue, args) : this.#callEarly(thisValue, args);
  }

  #callEarly(thisValue: unknown, args: readonly unknown[]): unknown {
    this.#stats.calls++;
    const { inputSpec } = this.options;
    if (inputSpec) checkInputs(inputSpec, args);
    const call = () => Reflect.apply(this.fn, thisValue, args);
    if (!toStaticEnabled || interceptor !== null) return call();
    this.#expectEager();
    this.#stats.coldCalls++;
    try {
      return this.#cold ? this.#cold.run(call) : call();
    } finally {
      // Requested after the call, so that the first call doesn't share the network and the processor.
      if (!this.#cold || this.#cold.areEnough) this.#compiler.request();
    }
  }

  /** Throws CaptureError if an eager call could violate what the options guarantee. */
  #expectEager(): void {
    const { failure } = this.#compiler;
    if (this.#settings.fallback === 'eager') {
      if (failure) this.#stats.addFallback({ why: failure, at: undefined });
      return;
    }
    if (!failure && !keepsBudget(this.#settings)) return;
    this.#compiler.request();
    throw new CaptureError({
      what: 'toStatic: a call would run as ordinary JavaScript',
      given: failure ?? `${this.#name} is called before the compiler is loaded`,
      expected: failure
        ? "a compiled call, since fallback is 'error'"
        : "a call that keeps the memory budget, since fallback is 'error'",
      remedy: "await toStatic.ready() before the call, or allow it with fallback: 'eager'",
    });
  }

  get #name(): string {
    return this.fn.name || 'a function';
  }

  /** Loads the compiler, and resolves when the final plans of everything compiled are used. */
  async ready(): Promise<void> {
    await this.#capturedBy(await this.#compiler.load()).ready();
  }

  async warmUp(thisValue: unknown, args: readonly unknown[]): Promise<void> {
    await this.#capturedBy(await this.#compiler.load()).warmUp(thisValue, args);
  }

  stats(): CapturedStats {
    return this.#stats.snapshot();
  }

  async checked(): Promise<void> {
    await this.captured?.checked();
  }

  programs(): readonly CompiledPart[] {
    return this.captured?.parts ?? [];
  }

  explain(options?: ExplainOptions): string {
    const { captured } = this;
    if (captured) {
      const { explain } = this.#compiler.now!;
      const { name, dynamic, parts } = captured;
      return explain({ name, dynamic, parts, stats: () => this.stats() }, options);
    }
    const calls = `${this.#name}: ${plural(this.#stats.calls, 'call')}, all eager`;
    return `${calls}\n${this.#compiler.failure ?? 'the compiler is not loaded yet'}: await ready()\n`;
  }
}
