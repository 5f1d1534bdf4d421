import type { Closure } from '../vm/bytecode/frame.ts';
import { closureOf } from '../vm/frames/function-of.ts';

// biome-ignore lint/complexity/noBannedTypes: whatever is called.
type FindClosure = (fn: Function) => Closure | undefined;

let find: FindClosure | undefined;

/** Registers the function that captures functions of the user's. */
export function provideClosures(provider: FindClosure): void {
  find = provider;
}

/** The code and variables behind a function: one that bytecode made, or one of the user's, not bound. */
export function closureBehind(fn: unknown): Closure | undefined {
  return closureOf(fn) ?? (typeof fn === 'function' ? find?.(fn) : undefined);
}
