import type { Closure } from '../vm/bytecode/frame.ts';
import { closureOf } from '../vm/frames/function-of.ts';

// biome-ignore lint/complexity/noBannedTypes: whatever is called.
type AnyFunction = Function;

type FindClosure = (fn: AnyFunction) => Closure | undefined;

let find: FindClosure | undefined;

/** Registers the function that captures user functions. */
export function provideClosures(provider: FindClosure): void {
  find = provider;
}

/** The target, `this` and arguments of one `bind`. */
interface BoundParts {
  readonly target: AnyFunction;
  readonly thisValue: unknown;
  readonly args: readonly unknown[];
}

let findBound: ((fn: AnyFunction) => BoundParts | undefined) | undefined;

/** Registers the function that inspects bound functions, if the engine allows it. */
export function provideBoundParts(provider: (fn: AnyFunction) => BoundParts | undefined): void {
  findBound = provider;
}

/** Bound functions that runs of captured code created. */
const boundByRun = new WeakMap<object, BoundParts>();

export function noteBound(fn: AnyFunction, parts: BoundParts): void {
  boundByRun.set(fn, parts);
}

export const isBoundByRun = (fn: AnyFunction): boolean => boundByRun.has(fn);

/** Returns the parts of a bound function; undefined for other functions, and if the engine doesn't reveal them. */
export function boundParts(fn: unknown): BoundParts | undefined {
  if (typeof fn !== 'function') return undefined;
  return boundByRun.get(fn) ?? findBound?.(fn as AnyFunction);
}

/** Returns the code and variables of a function: one that bytecode created, or an unbound user function. */
export function closureOfFunction(fn: unknown): Closure | undefined {
  return closureOf(fn) ?? (typeof fn === 'function' ? find?.(fn) : undefined);
}
