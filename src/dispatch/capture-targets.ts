/** The arguments of `toStatic`: a function, a module, whose `forward` it captures, or the method of a decorator. */

import { ArgumentError } from '../../runtime/errors/errors.ts';
import { isModule } from '../../runtime/nn/module/is-module.ts';
import type { Module } from '../../runtime/nn/module/module.ts';
import type { AnyFunction } from '../1-capture/script/route.ts';
import type { ExplainOptions } from '../explain/explain-options.ts';
import type { ToStaticOptions } from '../options/static-options.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { CapturedStats } from '../stats.ts';
import { staticRecord } from './static-functions.ts';

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
   * Resolves once everything compiled so far uses its final memory plan. Large programs start with a plan that is quick
   * to make; predictions describe the current plan.
   */
  ready(): Promise<void>;
  /** Returns the compiled parts: trace, programs and plan of each. */
  programs(): readonly CompiledPart[];
}

/** A captured function: called like the original, with reports about its compilation. */
export type StaticFunction<F extends Callable> = F & StaticReports;

/** A module with a captured `forward` and the reports; members of the module take precedence. */
export type StaticModule<M extends Module> = M & Omit<StaticReports, keyof M>;

type Capture = (fn: AnyFunction, options: ToStaticOptions) => StaticFunction<Callable>;

/** Captures a target given the arguments of `toStatic`; as a decorator, it receives two or three. */
export function captureTarget(
  capture: Capture,
  target: unknown,
  second: unknown = {},
  descriptor?: unknown,
): unknown {
  if (isDescriptor(descriptor)) {
    return { ...descriptor, value: capture(checkedFunction(descriptor.value), {}) };
  }
  if (isModule(target)) return captureModule(capture, target, second as ToStaticOptions);
  const options = isDecoratorContext(second) ? {} : (second as ToStaticOptions);
  return capture(checkedFunction(target), options);
}

/** Returns the function that the user calls, with the name, length and prototype of the user's function. */
export function wrapperOf(
  fn: AnyFunction,
  callee: { call(thisValue: unknown, args: readonly unknown[]): unknown },
): Callable {
  const run = function (this: unknown, ...args: unknown[]): unknown {
    return callee.call(this, args);
  };
  Object.defineProperty(run, 'name', { value: fn.name, configurable: true });
  Object.defineProperty(run, 'length', { value: fn.length, configurable: true });
  // The prototype of the generators that a generator function returns.
  if (isGeneratorFunction(fn)) run.prototype = fn.prototype as object;
  return run;
}

/** Compiles what a call of a captured function would run, as `toStatic.warmup`. Throws ArgumentError for others. */
export async function warmUp(
  f: Callable | (Module & { forward: Callable }),
  receiver: unknown,
  args: readonly unknown[],
): Promise<void> {
  const [fn, self] = isModule(f) ? [f.forward, f] : [f, receiver];
  const record = typeof fn === 'function' ? staticRecord(fn) : undefined;
  if (record) return record.warmUp(self, args);
  throw new ArgumentError({
    what: 'toStatic.warmup: the function was not captured',
    given: typeof f === 'function' ? f.name || 'a function' : typeof f,
    expected: 'what toStatic() has returned',
    remedy: 'const f = toStatic(fn); await toStatic.warmup(f, ...args)',
  });
}

const reports = ['explain', 'stats', 'checked', 'ready', 'programs'] as const;

/** Replaces `forward` by its captured form, and adds the reports as non-enumerable properties. */
function captureModule(capture: Capture, module: Module, options: ToStaticOptions): Module {
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

/** Throws ArgumentError for anything but a function that can be called. */
function checkedFunction(target: unknown): AnyFunction {
  if (typeof target === 'function') {
    if (Function.prototype.toString.call(target).startsWith('class')) throw classGiven(target);
    return target;
  }
  throw new ArgumentError({
    what: 'toStatic: nothing to capture',
    given: target === null ? 'null' : `a value of type ${typeof target}`,
    expected: 'a function, a method or an nn.Module',
    remedy: 'pass the function itself, not the result of calling it',
  });
}

export function classGiven({ name }: AnyFunction): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: a class is not captured, since `new` makes its objects',
    given: `class ${name || '<anonymous>'}`,
    expected: 'a function, a method or an nn.Module',
    remedy:
      'capture a method of it (@toStatic), an instance that is a module, or the function that makes the object',
  });
}

const generatorKinds: readonly object[] = [function* () {}, async function* () {}].map(
  (fn) => Object.getPrototypeOf(fn) as object,
);

function isGeneratorFunction(fn: AnyFunction): boolean {
  return generatorKinds.includes(Object.getPrototypeOf(fn) as object);
}

function isDecoratorContext(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value
  );
}

function isDescriptor(value: unknown): value is PropertyDescriptor {
  return typeof value === 'object' && value !== null && 'value' in value;
}
