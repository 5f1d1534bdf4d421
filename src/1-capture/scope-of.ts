import { expectFunction } from '../../runtime/options/expect-arguments.ts';
import { expectOptions } from '../../runtime/options/expect-options.ts';
import { anObject } from '../../runtime/options/option-kinds.ts';
import { captureFunction } from './capture.ts';
import { captureRefusals, isRefusal, remedyOf } from './script/refusal.ts';
import type { AnyFunction, CaptureOptions, CaptureRoute } from './script/route.ts';

/** The outer variables of a function, as `toStatic` sees them. */
export interface FunctionScope {
  readonly route: CaptureRoute;
  /** The function's position in the user's file; 1-based. */
  readonly at: { readonly file: string; readonly line: number; readonly column: number };
  /** All free names of the function and its inner functions. */
  readonly names: readonly string[];
  /** Returns the current value. Throws the ReferenceError that the function's own code would throw. */
  get(name: string): unknown;
  /** Assigns the variable. Throws the errors of an assignment in the function. */
  set(name: string, value: unknown): void;
  /** Returns true if nothing can assign the variable from now on. */
  isConstant(name: string): boolean;
  /** The `this` that an arrow function captures, if it uses one. */
  readonly thisValue?: { readonly value: unknown } | undefined;
}

/**
 * A function whose source or variables are unavailable: when captured, it runs as ordinary JavaScript, op by op.
 */
export interface UnknownScope {
  readonly route: 'co-execution';
  /** The variables that can't be read, if these are the reason. */
  readonly names: readonly string[];
  readonly why: string;
  readonly remedy: string;
}

/**
 * Finds a function's source and its live outer variables, in the order of `docs/scope.md`: the option, the build
 * plugin's marker, the inspector live, its snapshot, globals only; otherwise the function is co-executed. The body
 * never runs.
 */
export function scopeOf(
  fn: AnyFunction,
  options: CaptureOptions = {},
): FunctionScope | UnknownScope {
  expectFunction('scopeOf', fn);
  expectOptions('scopeOf', options, { scope: anObject });
  const captured = captureFunction(fn, options);
  if (isRefusal(captured)) {
    const { reason, detail, names = [] } = captured;
    const { explanation } = captureRefusals[reason];
    const why = `${detail} ${explanation}`;
    return { route: 'co-execution', names, why, remedy: remedyOf(captured) };
  }
  const { route, scope, freeNames, source, start, thisValue } = captured;
  return {
    route,
    at: source.position(start),
    names: freeNames,
    get: (name) => scope.get(name),
    set: (name, value) => scope.set(name, value),
    isConstant: (name) => scope.isConstant(name),
    ...(thisValue && { thisValue }),
  };
}
