import type { AnyFunction } from '../1-capture/capture.ts';
import type { Captured } from './captured-function.ts';

const capturedOf = new WeakMap<AnyFunction, Captured>();

/** Registers `captured` as the record of `run`, the function that the user calls. */
export function registerStatic(run: AnyFunction, captured: Captured): void {
  captured.wrapper = run;
  capturedOf.set(run, captured);
}

/** Returns the record of a captured function. */
export function capturedRecord(fn: AnyFunction): Captured | undefined {
  return capturedOf.get(fn);
}
