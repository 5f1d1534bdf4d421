import type { AnyFunction } from '../1-capture/capture.ts';
import type { Captured } from './captured-function.ts';

const capturedOf = new WeakMap<AnyFunction, Captured>();

/** `run` is what the user calls; `captured` is the record behind it. */
export function registerStatic(run: AnyFunction, captured: Captured): void {
  captured.wrapper = run;
  capturedOf.set(run, captured);
}

/** The record behind a captured function. */
export function capturedBehind(fn: AnyFunction): Captured | undefined {
  return capturedOf.get(fn);
}
