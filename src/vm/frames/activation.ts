/** Frames of calls, in their initial state. */

import type { Closure, Frame } from '../bytecode/frame.ts';
import { toObject } from '../language/primordials.ts';

/** Returns the frame of a call, with the `this` that the function sees. */
export function activate(
  closure: Closure,
  thisValue: unknown,
  args: readonly unknown[],
  newTarget?: unknown,
): Frame {
  const frame = newFrame(closure, thisSeenBy(closure, thisValue), args);
  const target = closure.lexicalThis ? closure.lexicalThis.newTarget : newTarget;
  return target === undefined ? frame : { ...frame, newTarget: target };
}

export function thisSeenBy({ code, lexicalThis }: Closure, thisValue: unknown): unknown {
  if (code.kind === 'arrow') return lexicalThis ? lexicalThis.value : thisValue;
  if (code.strict) return thisValue;
  // In sloppy mode, `this` is an object.
  return thisValue === undefined || thisValue === null ? globalThis : toObject(thisValue);
}

export function newFrame(closure: Closure, thisValue: unknown, args: readonly unknown[]): Frame {
  const registers = blankRegisters(closure.code.registerCount);
  return { closure, pc: 0, registers, thisValue, args, newTarget: undefined };
}

const blanks: Record<number, unknown[]> = Object.create(null);
const { apply, defineProperty } = Reflect;
const listed = (...values: unknown[]): unknown[] => values;

const nothing = {
  __proto__: null,
  value: undefined,
  writable: true,
  enumerable: true,
  configurable: true,
} as PropertyDescriptor;

/** The maximum number of call arguments, which are on the engine's stack. */
const mostListed = 5000;

/**
 * Returns empty registers. The rest array of a call is a new array that is unaffected by properties that user code has
 * added to prototypes, and has a single elements kind in the engine.
 */
export function blankRegisters(count: number): unknown[] {
  // A literal is several times faster than the rest array of a call, and most functions are small.
  const u = undefined;
  switch (count) {
    case 1:
      return [u];
    case 2:
      return [u, u];
    case 3:
      return [u, u, u];
    case 4:
      return [u, u, u, u];
    case 5:
      return [u, u, u, u, u];
    case 6:
      return [u, u, u, u, u, u];
    case 7:
      return [u, u, u, u, u, u, u];
    case 8:
      return [u, u, u, u, u, u, u, u];
    default:
      return listedRegisters(count);
  }
}

function listedRegisters(count: number): unknown[] {
  const blank = blanks[count];
  if (blank) return apply(listed, undefined, blank) as unknown[];
  if (count > mostListed) return new Array<unknown>(count).fill(undefined);
  const made: unknown[] = [];
  blanks[count] = made;
  for (let i = 0; i < count; i++) defineProperty(made, i, nothing);
  return listedRegisters(count);
}
