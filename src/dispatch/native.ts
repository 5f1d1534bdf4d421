/** Native execution: one instruction after a break, or everything that follows. */

import { withGradMode } from '../../runtime/autograd/grad-mode.ts';
import { withGuard } from '../../runtime/device/current.ts';
import { withPositionProvider } from '../../runtime/errors/position.ts';
import { tensorsIn } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { isProxy } from '../guards/plain.ts';
import { guardOf } from '../traces/frame-guard.ts';
import { reads } from '../vm/bytecode/effects.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Pc, Reg } from '../vm/bytecode/instructions.ts';
import { dyingBetween } from '../vm/bytecode/liveness.ts';
import { forEachHeld, mayRead } from '../vm/frames/held.ts';
import type { Machine } from '../vm/frames/machine.ts';
import { Suspended } from '../vm/frames/suspended.ts';
import { showCapturedFrames } from '../vm/frames/thrown.ts';
import { unwindTo } from '../vm/frames/unwind.ts';
import { executeFrame } from '../vm/machine/machine.ts';
import { positionOf, step } from '../vm/machine/run-frames.ts';
import type { OwnedTensors } from './ownership/owned-tensors.ts';

/**
 * Runs the instruction of the innermost frame, which must not be a return. A throw continues at the innermost handler
 * and pops the frames above it.
 */
export function stepNatively(
  frames: Frame[],
  owned: OwnedTensors,
  keepsNoOperand: KeepsNoOperand,
): void {
  const top = frames.length - 1;
  const frame = frames[top]!;
  const call = tensorCall(frame, keepsNoOperand);
  if (!call) escapeOperands(frame, owned);
  withPositionProvider(
    () => positionOf(frames),
    () => {
      try {
        inModesOf(frame, () => step(frame));
        if (call) settle(frames, call, owned);
      } catch (error) {
        showCapturedFrames(error, frames);
        if (!unwindTo(frames, top, error)) throw error;
      }
    },
  );
}

/**
 * Runs instructions of the innermost frame, none of which creates, frees or keeps an owned tensor, on a machine that
 * stops after them. A throw that the frame doesn't catch is handled as in `stepNatively`.
 */
export function runPart(frames: Frame[], machine: Machine): void {
  const top = frames.length - 1;
  const frame = frames[top]!;
  withPositionProvider(
    () => positionOf(frames),
    () => {
      try {
        inModesOf(frame, () => machine(frame));
      } catch (error) {
        showCapturedFrames(error, frames, true);
        if (!unwindTo(frames, top, error)) throw error;
      }
    },
  );
}

/**
 * Runs the innermost frame natively until it reaches `pc`, a return, an `await` or a `yield`; calls run to
 * completion. If a throw is caught in a calling frame, execution stops there.
 */
export function stepTo(
  frames: Frame[],
  pc: Pc,
  owned: OwnedTensors,
  keepsNoOperand: KeepsNoOperand,
): void {
  const depth = frames.length;
  const frame = frames[depth - 1]!;
  // At least once: a loop may break where it began.
  do stepNatively(frames, owned, keepsNoOperand);
  while (frames.length === depth && frame.pc !== pc && !endsHere(frame));
}

function endsHere({ closure, pc }: Frame): boolean {
  const { op } = closure.code.instructions[pc]!;
  return op === 'return' || op === 'await' || op === 'yield';
}

/** Runs the frames to the outermost return, or to its next `await` or `yield`; the result is then `Suspended`. */
export function finishNatively(frames: readonly Frame[], owned: OwnedTensors): unknown {
  forEachHeld(frames, (value) => owned.escape(value));
  const stack = [...frames];
  return withPositionProvider(
    () => positionOf(stack),
    () => {
      for (;;) {
        try {
          return runToEnd(stack);
        } catch (error) {
          showCapturedFrames(error, stack, true);
          // The machine has already searched its own frame for a handler.
          if (!unwindTo(stack, stack.length - 1, error)) throw error;
        }
      }
    },
  );
}

function runToEnd(stack: Frame[]): unknown {
  for (;;) {
    const frame = stack[stack.length - 1]!;
    const value = inModesOf(frame, () => executeFrame(frame));
    if (Suspended.is(value)) return value;
    stack.pop();
    const caller = stack[stack.length - 1];
    if (!caller) return value;
    if (frame.returnTo !== undefined) caller.registers[frame.returnTo] = value;
  }
}

/** Whether only the caller references a call's operands afterwards: the call returns a new tensor or an operand. */
type KeepsNoOperand = (callee: unknown) => boolean;

/** The state before a call that keeps none of its operands. */
interface TensorCall {
  readonly pc: Pc;
  readonly result: Reg;
  /** The previous content of the result's register. */
  readonly before: unknown;
  /** The tensors among the operands, also those in arrays and objects; other values may be among them. */
  readonly operands: readonly unknown[];
}

function tensorCall(frame: Frame, keepsNoOperand: KeepsNoOperand): TensorCall | undefined {
  const { closure, pc, registers } = frame;
  const instruction = closure.code.instructions[pc]!;
  if (instruction.op !== 'call' || !keepsNoOperand(registers[instruction.callee])) return undefined;
  const { receiver, args, dst: result } = instruction;
  const given = (receiver === null ? args : [receiver, ...args]).map((reg) => registers[reg]);
  if (!given.every((each) => isReadPlainly(each))) return undefined;
  const operands = given.every(isSingle) ? given : tensorsIn(given);
  return { pc, result, before: registers[result], operands };
}

/** Whether the value, which is read plainly, contains no others. */
const isSingle = (value: unknown): boolean => typeof value !== 'object' || value instanceof Tensor;

/** Whether `tensorsIn` runs no getter or trap of the user. Array elements have none. */
function isReadPlainly(value: unknown, seen?: Set<unknown>): boolean {
  if (typeof value !== 'object' || value === null || seen?.has(value)) return true;
  if (isProxy(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isArray = Array.isArray(value);
  if (!isArray && prototype !== Object.prototype && prototype !== null) return true;
  seen = (seen ?? new Set()).add(value);
  if (isArray) return value.every((item) => isReadPlainly(item, seen));
  return Object.values(Object.getOwnPropertyDescriptors(value)).every(
    (each) => 'value' in each && isReadPlainly(each.value, seen),
  );
}

/** Marks the operands of a native call as escaped, since native code may keep them. */
function escapeOperands(frame: Frame, owned: OwnedTensors): void {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  for (const reg of reads(instruction)) owned.escape(frame.registers[reg]);
}

/**
 * Makes the frames own tensors that the call created, unless it only passed them through, and frees operands whose last
 * use it was.
 */
function settle(frames: readonly Frame[], call: TensorCall, owned: OwnedTensors): void {
  const frame = frames[frames.length - 1]!;
  const { code } = frame.closure;
  const value = frame.registers[call.result];
  // A call whose throw was caught in its own frame has left the register unchanged.
  const isResult = value !== call.before;
  if (isResult && value instanceof Tensor && !call.operands.includes(value)) owned.add(value);
  else if (isResult && Array.isArray(value)) owned.addArray(value, call.operands);
  if (owned.isEmpty) return;
  const release = (tensor: unknown) => {
    if (!(tensor instanceof Tensor) || !owned.has(tensor)) return;
    if (!frames.some((each) => mayRead(each, tensor))) owned.release(tensor);
  };
  release(call.before);
  for (const register of dyingBetween(code, call.pc, frame.pc)) release(frame.registers[register]);
}

/** Runs `body` in the modes set by `noGrad`, `enableGrad` and `deviceGuard` around the frame. */
function inModesOf<T>(frame: Frame, body: () => T): T {
  const guard = guardOf(frame);
  if (guard === undefined) return withGradMode(frame.gradMode, body);
  return withGuard(guard, () => withGradMode(frame.gradMode, body));
}
