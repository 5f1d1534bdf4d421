import type { Code } from '../bytecode/code.ts';
import type { Frame } from '../bytecode/frame.ts';
import { type Pc, reg } from '../bytecode/instructions.ts';
import { type LiveSet, liveBefore, liveDuring } from '../bytecode/liveness.ts';

/**
 * Returns whether the frame may still read the value, from a live register or from an argument that isn't bound
 * yet.
 */
export function mayRead(frame: Frame, value: unknown): boolean {
  const { closure, pc, registers, args } = frame;
  const live = liveBefore(closure.code)[pc]!;
  for (let i = registers.indexOf(value); i >= 0; i = registers.indexOf(value, i + 1)) {
    if (live.has(reg(i)) || liveWhileWaiting(frame)?.has(reg(i))) return true;
  }
  return args.some((arg, index) => arg === value && pc <= lastArgumentRead(closure.code, index));
}

/** Returns all values that the frame may still read, except its `this` and its closure's cells. */
export function readableIn(frame: Frame): unknown[] {
  const { closure, pc, registers, args } = frame;
  const live = [...liveBefore(closure.code)[pc]!, ...(liveWhileWaiting(frame) ?? [])];
  const waiting = args.filter((_, index) => pc <= lastArgumentRead(closure.code, index));
  return [...live.map((register) => registers[register]), ...waiting];
}

/** Returns whether a frame contains the value, live or not. */
export function anyFrameContains(frames: readonly Frame[], value: unknown): boolean {
  return frames.some(
    ({ closure, registers, args, thisValue }) =>
      registers.includes(value) ||
      args.includes(value) ||
      thisValue === value ||
      closure.lexicalThis?.value === value ||
      (closure.cells as readonly unknown[]).includes(value),
  );
}

/** Visits all values that frames contain, live or not. */
export function forEachHeld(frames: readonly Frame[], visit: (value: unknown) => void): void {
  for (const { closure, registers, args, thisValue } of frames) {
    for (const cell of closure.cells) visit(cell);
    visit(closure.lexicalThis?.value);
    for (const value of registers) visit(value);
    for (const value of args) visit(value);
    visit(thisValue);
  }
}

/** A frame that waits for a call may also continue at an exception handler. */
function liveWhileWaiting({ closure: { code }, pc }: Frame): LiveSet | undefined {
  const waits = pc > 0 && code.instructions[pc - 1]!.op.startsWith('call');
  return waits ? liveDuring(code, pc - 1) : undefined;
}

const lastReadsOf = new WeakMap<Code, readonly Pc[]>();

/** Returns the last instruction that reads argument number `index`; -1 if there is none. */
function lastArgumentRead(code: Code, index: number): Pc {
  let last = lastReadsOf.get(code);
  if (!last) {
    const found: Pc[] = [];
    code.instructions.forEach((instruction, pc) => {
      if (instruction.op === 'arg') found[instruction.index] = pc;
    });
    last = found;
    lastReadsOf.set(code, last);
  }
  return last[index] ?? -1;
}
