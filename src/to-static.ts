import { ArgumentError } from '../runtime/errors/errors.ts';
import { Module } from '../runtime/nn/module/module.ts';
import type { AnyFunction } from './1-capture/capture.ts';
import { Captured, type ToStaticOptions } from './dispatch/captured-function.ts';
import { capturedRecord, registerStatic } from './dispatch/static-functions.ts';
import { explain } from './explain/explain.ts';
import type { ExplainOptions } from './explain/explain-options.ts';
import type { CompiledPart } from './programs/compiled-part.ts';
import type { CapturedStats } from './stats.ts';
import { closureOf } from './vm/frames/function-of.ts';

// biome-ignore lint/suspicious/noExplicitAny: the constraint that every function type satisfies.
type Callable = (this: any, ...args: any[]) => any;

/** The reports of a captured function or module. */
export interface StaticReports {
  /** Reports subgraphs, memory, breaks and costs so far; `explain({ guards: true })` adds guards. */
  explain(options?: ExplainOptions): string;
  stats(): CapturedStats;
  /** On a GPU, check mode compares asynchronously: resolves when all comparisons are done, rejects with CheckError. */
  checked(): Promise<void>;
  /**
   * Resolves once the final memory plan of everything compiled so far is in force. Large programs start with a plan
   * that is quick to make; predictions describe the plan in force.
   */
  ready(): Promise<void>;
  /** Returns the compiled parts: trace, programs and plan of each. */
  programs(): readonly CompiledPart[];
}

/** A captured function: called like the original, with reports about its compilation. */
export type StaticFunction<F extends Callable> = F & StaticReports;

/** A module with a captured `forward` and the reports; members of the module take precedence. */
export type StaticModule<M extends Module> = M & Omit<StaticReports, keyof M>;

/**
 * Captures a function: its tensor ops run as planned programs, everything else as before. Takes a function, or a
 * module, whose `forward` is captured and which gets `explain()` and the other reports. Also a decorator:
 * `@toStatic` on a method, with standard decorators and TypeScript's legacy ones.
 *
 * A generator function returns generators whose bodies run as programs from one `yield` to the next. A class is
 * rejected with an ArgumentError.
 *
 * Nothing is traced before the first call. Code that can't be captured runs natively, and `explain()` says which
 * and why; with `fallback: 'error'` it throws a CaptureError instead.
 */
export function toStatic<M extends Module>(module: M, options?: ToStaticOptions): StaticModule<M>;
export function toStatic<F extends Callable>(fn: F, options?: ToStaticOptions): StaticFunction<F>;
export function toStatic<F extends Callable>(
  method: F,
  context: ClassMethodDecoratorContext,
): StaticFunction<F>;
export function toStatic(
  target: object,
  key: string | symbol,
  descriptor: PropertyDescriptor,
): PropertyDescriptor;
export function toStatic(target: unknown, second: unknown = {}, descriptor?: unknown): unknown {
  if (isDescriptor(descriptor)) {
    return { ...descriptor, value: capture(checkedFunction(descriptor.value), {}) };
  }
  if (target instanceof Module) {
    return captureModule(target, second as ToStaticOptions);
  }
  const options = isDecoratorContext(second) ? {} : (second as ToStaticOptions);
  return capture(checkedFunction(target), options);
}

/**
 * Compiles what `f(...args)` would run, up to its first graph break, with the final memory plan. Nothing runs and
 * nothing changes; the first call finds everything compiled. For a method: `warmup.call(receiver, f, ...args)`.
 * Throws ArgumentError for a function that was not captured, or a generator function.
 */
async function warmup<F extends Callable>(
  this: unknown,
  f: F | (Module & { forward: F }),
  ...args: Parameters<F>
): Promise<void> {
  const captured = capturedRecord(f instanceof Module ? f.forward : f);
  if (!captured) throw notCaptured(f);
  const receiver = f instanceof Module ? f : this === toStatic ? undefined : this;
  await captured.warmUp(receiver, args);
}

toStatic.warmup = warmup;

function notCaptured(given: unknown): ArgumentError {
  return new ArgumentError({
    what: 'toStatic.warmup: the function was not captured',
    given: typeof given === 'function' ? given.name || 'a function' : typeof given,
    expected: 'what toStatic() has returned',
    remedy: 'const f = toStatic(fn); await toStatic.warmup(f, ...args)',
  });
}

const reports = ['explain', 'stats', 'checked', 'ready', 'programs'] as const;

/** Replaces `forward` by its captured form, and adds the reports, hidden from code that enumerates the module. */
function captureModule(module: Module, options: ToStaticOptions): Module {
  const captured = capture(module.forward, options);
  const hidden = { writable: true, configurable: true };
  Object.defineProperty(module, 'forward', { value: captured, ...hidden });
  for (const name of reports) {
    const isOwn = name in module && !reported.has(module);
    if (!isOwn) Object.defineProperty(module, name, { value: captured[name], ...hidden });
  }
  reported.add(module);
  return module;
}

/** Modules with a captured `forward`, and their reports. */
const reported = new WeakSet<Module>();

function capture(fn: AnyFunction, options: ToStaticOptions): StaticFunction<Callable> {
  const captured = new Captured(fn, options);
  const run = function (this: unknown, ...args: unknown[]): unknown {
    return captured.call(this, args);
  };
  Object.defineProperty(run, 'name', { value: fn.name, configurable: true });
  Object.defineProperty(run, 'length', { value: fn.length, configurable: true });
  // The prototype of the generators that a generator function returns.
  if (isGeneratorFunction(fn)) run.prototype = fn.prototype as object;
  registerStatic(run, captured);
  return Object.assign(run, {
    explain: (options?: ExplainOptions) =>
      explain(captured.name, captured.stats(), captured.parts, options),
    stats: () => captured.stats(),
    checked: () => captured.checked(),
    ready: () => captured.ready(),
    programs: () => captured.parts,
  });
}

const generatorKinds: readonly object[] = [function* () {}, async function* () {}].map(
  (fn) => Object.getPrototypeOf(fn) as object,
);

function isGeneratorFunction(fn: AnyFunction): boolean {
  return generatorKinds.includes(Object.getPrototypeOf(fn) as object);
}

function checkedFunction(target: unknown): AnyFunction {
  if (typeof target === 'function' && !isClass(target)) return target;
  if (typeof target === 'function') {
    throw new ArgumentError({
      what: 'toStatic: a class is not captured, since `new` makes its objects',
      given: `class ${target.name || '<anonymous>'}`,
      expected: 'a function, a method or an nn.Module',
      remedy:
        'capture a method of it (@toStatic), an instance that is a module, or the function that makes the object',
    });
  }
  throw new ArgumentError({
    what: 'toStatic: nothing to capture',
    given: target === null ? 'null' : `a value of type ${typeof target}`,
    expected: 'a function, a method or an nn.Module',
    remedy: 'pass the function itself, not the result of calling it',
  });
}

/** Whether it is a class, which can't be called as a function. */
function isClass(fn: AnyFunction): boolean {
  const made = closureOf(fn);
  if (made) return made.code.kind.endsWith('onstructor');
  return Function.prototype.toString.call(fn).startsWith('class');
}

function isDecoratorContext(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value
  );
}

function isDescriptor(value: unknown): value is PropertyDescriptor {
  return typeof value === 'object' && value !== null && 'value' in value;
}
