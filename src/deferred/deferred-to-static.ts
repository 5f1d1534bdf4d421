import type { AnyFunction } from '../1-capture/script/route.ts';
import {
  captureTarget,
  type StaticFunction,
  warmUp,
  wrapperOf,
} from '../dispatch/capture-targets.ts';
import { registerStatic } from '../dispatch/static-functions.ts';
import type { ExplainOptions } from '../explain/explain-options.ts';
import type { ToStaticOptions } from '../options/static-options.ts';
import type { toStatic as toStaticAtOnce } from '../to-static.ts';
import { DeferredFunction } from './deferred-function.ts';
import type { LateCompiler } from './late-compiler.ts';

// biome-ignore lint/suspicious/noExplicitAny: the constraint that every function type satisfies.
type Callable = (this: any, ...args: any[]) => any;

/** Captures like `toStatic` of `tostatic`, once its compiler is loaded. Calls before that run eagerly. */
export type DeferredToStatic = typeof toStaticAtOnce & {
  /** Loads the compiler: functions are compiled from their next call on. Rejects if it can't be loaded. */
  ready(): Promise<void>;
};

/** Creates a `toStatic` whose compiler is loaded when it is needed. */
export function deferredToStatic(compiler: LateCompiler): DeferredToStatic {
  function capture(fn: AnyFunction, options: ToStaticOptions): StaticFunction<Callable> {
    const deferred = new DeferredFunction(fn, options, compiler);
    const run = wrapperOf(fn, deferred);
    registerStatic(run, deferred);
    return Object.assign(run, {
      explain: (options?: ExplainOptions) => deferred.explain(options),
      stats: () => deferred.stats(),
      checked: () => deferred.checked(),
      ready: () => deferred.ready(),
      programs: () => deferred.programs(),
    });
  }
  function toStatic(target: unknown, second?: unknown, descriptor?: unknown): unknown {
    return captureTarget(capture, target, second, descriptor);
  }
  async function warmup(this: unknown, f: Callable, ...args: unknown[]): Promise<void> {
    await warmUp(f, this === toStatic ? undefined : this, args);
  }
  async function ready(): Promise<void> {
    await compiler.load();
  }
  return Object.assign(toStatic, { warmup, ready }) as DeferredToStatic;
}
