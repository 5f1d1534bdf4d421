import type { Code } from './code.ts';
import { effectOf, handlerOf, reads, successors, writes } from './effects.ts';
import type { Pc, Reg } from './instructions.ts';
import { openIterators } from './open-iterators.ts';
import { RegisterSet } from './register-set.ts';

/** Live registers, which may still be read. */
export type LiveSet = Pick<RegisterSet, 'has' | typeof Symbol.iterator>;

const known = new WeakMap<Code, readonly RegisterSet[]>();

/**
 * Returns, for each instruction, the registers that it or a later instruction may still read: a frame that stops
 * before the instruction must keep them. An open iterator is live until it is closed, because an exception closes
 * it.
 */
export function liveBefore(code: Code): readonly LiveSet[] {
  return computeLiveBefore(code);
}

/**
 * Returns the registers that a frame must keep while a frame above it runs the call at `pc`: those that later code
 * or an exception handler needs. The call's result is written afterwards.
 */
export function liveDuring(code: Code, pc: Pc): LiveSet {
  let ofCode = during.get(code);
  if (!ofCode) {
    ofCode = new Map();
    during.set(code, ofCode);
  }
  let live = ofCode.get(pc);
  if (!live) {
    live = neededAround(code, pc, computeLiveBefore(code));
    ofCode.set(pc, live);
  }
  return live;
}

const during = new WeakMap<Code, Map<Pc, RegisterSet>>();

const dying = new WeakMap<Code, Map<number, readonly Reg[]>>();

/**
 * Returns the registers whose values die when control passes from `pc` to `next` (undefined: out of the function):
 * they were live before or just written, and aren't needed there. Includes values that die because a branch takes
 * the path that doesn't read them.
 */
export function dyingBetween(code: Code, pc: Pc, next: Pc | undefined): readonly Reg[] {
  let ofCode = dying.get(code);
  if (!ofCode) {
    ofCode = new Map();
    dying.set(code, ofCode);
  }
  const { length: outside } = code.instructions;
  const key = pc * (outside + 1) + (next ?? outside);
  let registers = ofCode.get(key);
  if (!registers) {
    registers = findDying(code, pc, next);
    ofCode.set(key, registers);
  }
  return registers;
}

function findDying(code: Code, pc: Pc, next: Pc | undefined): readonly Reg[] {
  const before = computeLiveBefore(code);
  const held = before[pc]!.copy();
  const written = writes(code.instructions[pc]!);
  if (written !== undefined) held.add(written);
  return [...held].filter((register) => next === undefined || !before[next]!.has(register));
}

function computeLiveBefore(code: Code): readonly RegisterSet[] {
  let live = known.get(code);
  if (live === undefined) {
    live = solve(code);
    known.set(code, live);
  }
  return live;
}

function solve(code: Code): readonly RegisterSet[] {
  const live = openIterators(code).map((open) => open.copy());
  // Iterates backward to a fixed point: loops need a second pass, nested loops a third.
  for (let grew = true; grew; ) {
    grew = false;
    for (let pc = code.instructions.length - 1; pc >= 0; pc--) {
      if (live[pc]!.addAll(neededBy(code, pc, live))) grew = true;
    }
  }
  return live;
}

function neededBy(code: Code, pc: Pc, live: readonly RegisterSet[]): RegisterSet {
  const needed = neededAround(code, pc, live);
  for (const register of reads(code.instructions[pc]!)) needed.add(register);
  return needed;
}

/** Returns the registers that later code may need, except those that the instruction itself provides. */
function neededAround(code: Code, pc: Pc, live: readonly RegisterSet[]): RegisterSet {
  const instruction = code.instructions[pc]!;
  const needed = new RegisterSet(code.registerCount);
  const [next, target] = successors(code, pc);
  const { writesBeforeJump } = effectOf(instruction);
  if (next !== undefined) needed.addAll(live[next]!);
  if (target !== undefined && writesBeforeJump) needed.addAll(live[target]!);
  const written = writes(instruction);
  if (written !== undefined) needed.delete(written);
  // `iteratorNext` doesn't write before the jump, so what the target needs is live before it.
  if (target !== undefined && !writesBeforeJump) needed.addAll(live[target]!);
  // An exception leaves `dst` unchanged.
  const handler = handlerOf(code, pc);
  if (handler) {
    const caught = live[handler.target]!.copy();
    caught.delete(handler.error);
    needed.addAll(caught);
  }
  return needed;
}
