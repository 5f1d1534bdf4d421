import type { Closure } from '../vm/bytecode/frame.ts';
import { closureOf } from '../vm/frames/function-of.ts';

// biome-ignore lint/complexity/noBannedTypes: whatever is called.
type FindClosure = (fn: Function) => Closure | undefined;

let find: FindClosure | undefined;

/** Registers the function that captures user functions. */
export function provideClosures(provider: FindClosure): void {
  find = provider;
}

/** Returns the code and variables of a function: one that bytecode created, or an unbound user function. */
export function closureOfFunction(fn: unknown): Closure | undefined {
  return closureOf(fn) ?? (typeof fn === 'function' ? find?.(fn) : undefined);
}
