import type { Module } from '../runtime/nn/module/module.ts';
import type { AnyFunction } from './1-capture/capture.ts';
import {
  captureTarget,
  classGiven,
  type StaticFunction,
  type StaticModule,
  warmUp,
  wrapperOf,
} from './dispatch/capture-targets.ts';
import { Captured, type ToStaticOptions } from './dispatch/captured-function.ts';
import { registerStatic } from './dispatch/static-functions.ts';
import { explain } from './explain/explain.ts';
import type { ExplainOptions } from './explain/explain-options.ts';
import { closureOf } from './vm/frames/function-of.ts';

export type { StaticFunction, StaticModule, StaticReports } from './dispatch/capture-targets.ts';

// biome-ignore lint/suspicious/noExplicitAny: the constraint that every function type satisfies.
type Callable = (this: any, ...args: any[]) => any;

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
export function toStatic(target: unknown, second?: unknown, descriptor?: unknown): unknown {
  return captureTarget(capture, target, second, descriptor);
}

/**
 * Compiles what `f(...args)` would run, up to its first graph break, with the final memory plan. Runs and changes
 * nothing; the first call finds everything compiled. For a method: `warmup.call(receiver, f, ...args)`. Throws
 * ArgumentError for a function that was not captured, or a generator function.
 */
async function warmup<F extends Callable>(
  this: unknown,
  f: F | (Module & { forward: F }),
  ...args: Parameters<F>
): Promise<void> {
  await warmUp(f, this === toStatic ? undefined : this, args);
}

toStatic.warmup = warmup;

function capture(fn: AnyFunction, options: ToStaticOptions): StaticFunction<Callable> {
  // A class created by captured code prints as a function.
  if (closureOf(fn)?.code.kind.endsWith('onstructor')) throw classGiven(fn);
  const captured = new Captured(fn, options);
  const run = wrapperOf(fn, captured);
  registerStatic(run, captured);
  return Object.assign(run, {
    explain: (options?: ExplainOptions) => explain(captured, options),
    stats: () => captured.stats(),
    checked: () => captured.checked(),
    ready: () => captured.ready(),
    programs: () => captured.parts,
  });
}
