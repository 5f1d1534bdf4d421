/** The numbers that `Math.random()` and the clock return in one run of an entry. */

import { type NumberCall, numberCalls } from '../../runtime/ops/numbers/number-calls.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { weakGet, weakSet } from '../vm/language/primordials.ts';

/** The `index`th call of the function since the frames were entered. */
export interface CalledNumber {
  readonly kind: 'called';
  readonly fn: NumberCall;
  readonly index: number;
  /** Whether the run itself makes the call: a time read after all ops. */
  readonly after: boolean;
}

/** Placeholder numbers that a trace assumes for these calls: a run checks what was derived from them. */
export const sampleNumbers: Readonly<Record<NumberCall, number>> = {
  'Math.random': 0.5,
  'Date.now': 2e12,
  'performance.now': 1000.5,
};

type Numbers = Partial<Record<NumberCall, number[]>>;

const calledBy = new WeakMap<readonly Frame[], Numbers>();

/**
 * Returns the number of the call, which its first reader makes, a guard or the run. Earlier calls are made before it.
 */
export function calledNumber(frames: readonly Frame[], { fn, index }: CalledNumber): number {
  const numbers = weakGet(calledBy, frames) ?? {};
  weakSet(calledBy, frames, numbers);
  numbers[fn] ??= [];
  const list = numbers[fn];
  while (list.length <= index) list[list.length] = numberCalls[fn]();
  return list[index]!;
}

/** The frames continue elsewhere: later calls get new numbers. */
export function forgetCalls(frames: readonly Frame[]): void {
  weakSet(calledBy, frames, {});
}
