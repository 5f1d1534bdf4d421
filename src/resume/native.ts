/** Going on as ordinary JavaScript: one instruction after a break, or all the rest. */

import { withGradMode } from '../../runtime/autograd/grad-mode.ts';
import { withPositionProvider } from '../../runtime/errors/position.ts';
import { tensorMethods } from '../../runtime/tensor/methods.ts';
import { reads } from '../bytecode/effects.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { Instruction, Pc } from '../bytecode/instructions.ts';
import { positionOf, step } from './interpreter.ts';
import { executeFrame } from './machine.ts';
import type { OwnedTensors } from './owned-tensors.ts';
import { Suspended } from './suspended.ts';
import { unwindTo } from './unwind.ts';

/**
 * Runs the innermost frame's instruction, which is no return. A throw goes on at the innermost handler:
 * the frames above it are taken off.
 */
export function stepNatively(frames: Frame[], owned: OwnedTensors): void {
  const top = frames.length - 1;
  const frame = frames[top]!;
  escapeOperands(frame, owned);
  withPositionProvider(
    () => positionOf(frames),
    () => {
      try {
        withGradMode(frame.gradMode, () => step(frame));
      } catch (error) {
        if (!unwindTo(frames, top, error)) throw error;
      }
    },
  );
}

/**
 * Runs the innermost frame natively until it stands at `pc`, at a return or at an `await`; calls are made
 * whole. A throw may have gone to a caller's handler: then execution stands there.
 */
export function stepTo(frames: Frame[], pc: Pc, owned: OwnedTensors): void {
  const depth = frames.length;
  const frame = frames[depth - 1]!;
  // Once at least: a loop may break where it began.
  do stepNatively(frames, owned);
  while (frames.length === depth && frame.pc !== pc && !endsHere(frame));
}

function endsHere({ closure, pc }: Frame): boolean {
  const { op } = closure.code.instructions[pc]!;
  return op === 'return' || op === 'await';
}

/** Runs the frames to the outermost's return; or to its next `await`, then the result is `Suspended`. */
export function finishNatively(frames: readonly Frame[], owned: OwnedTensors): unknown {
  for (const { registers, args, thisValue } of frames) {
    for (const value of registers) owned.escape(value);
    for (const value of args) owned.escape(value);
    owned.escape(thisValue);
  }
  const stack = [...frames];
  return withPositionProvider(
    () => positionOf(stack),
    () => {
      for (;;) {
        try {
          return runToEnd(stack);
        } catch (error) {
          // The machine has looked for a handler in its own frame.
          if (!unwindTo(stack, stack.length - 1, error)) throw error;
        }
      }
    },
  );
}

function runToEnd(stack: Frame[]): unknown {
  for (;;) {
    const frame = stack[stack.length - 1]!;
    const value = withGradMode(frame.gradMode, () => executeFrame(frame));
    if (value instanceof Suspended) return value;
    stack.pop();
    const caller = stack[stack.length - 1];
    if (!caller) return value;
    if (frame.returnTo !== undefined) caller.registers[frame.returnTo] = value;
  }
}

const dataReads: ReadonlySet<unknown> = new Set<unknown>(tensorMethods.reads);

/** What native code gets to see may be kept by it, but for reads of data, which keep nothing. */
function escapeOperands(frame: Frame, owned: OwnedTensors): void {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  if (isDataRead(frame, instruction)) return;
  for (const reg of reads(instruction)) owned.escape(frame.registers[reg]);
}

function isDataRead(frame: Frame, instruction: Instruction): boolean {
  return instruction.op === 'call' && dataReads.has(frame.registers[instruction.callee]);
}
