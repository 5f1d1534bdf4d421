import type { AnyFunction } from '../1-capture/script/route.ts';
import type { ToStaticOptions } from '../options/static-options.ts';
import type { Captured } from './captured-function.ts';

/** The record of a function that `toStatic` returned. */
export interface StaticRecord {
  /** The user's function. */
  readonly fn: AnyFunction;
  readonly options: ToStaticOptions;
  /** The function that the user calls, or that a decorator installs in the class. */
  wrapper: AnyFunction | undefined;
  /** Null before the compiler is loaded. */
  readonly captured: Captured | null;
  /**
   * Compiles what a call with these arguments would run, up to its first graph break, without running it. Throws the
   * errors of tracing, and ArgumentError for a generator function.
   */
  warmUp(thisValue: unknown, args: readonly unknown[]): Promise<void>;
}

const records = new WeakMap<AnyFunction, StaticRecord>();

/** Registers the record of `run`, the function that the user calls. */
export function registerStatic(run: AnyFunction, record: StaticRecord): void {
  record.wrapper = run;
  records.set(run, record);
}

/** Returns the record of a captured function. */
export function staticRecord(fn: AnyFunction): StaticRecord | undefined {
  return records.get(fn);
}
