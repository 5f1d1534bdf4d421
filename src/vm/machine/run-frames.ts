import { invariant } from '../../../runtime/errors/invariant.ts';
import { ownPartOfFile } from '../../../runtime/errors/own-code.ts';
import { withPositionProvider } from '../../../runtime/errors/position.ts';
import type { Code, SourcePosition } from '../bytecode/code.ts';
import { writes } from '../bytecode/effects.ts';
import { type Cell, type Closure, type Frame, newClosure, type Scope } from '../bytecode/frame.ts';
import type { Instruction, Pc } from '../bytecode/instructions.ts';
import { activate } from '../frames/activation.ts';
import { raisingPosition } from '../frames/captured-frame.ts';
import { functionOf } from '../frames/function-of.ts';
import { generatorAt } from '../frames/generator-frame.ts';
import { showCapturedFrames } from '../frames/thrown.ts';
import { catchIn, unwindTo } from '../frames/unwind.ts';
import { type Performed, perform } from '../interpreter/handlers.ts';
import { machineFor } from './machine.ts';

export { closureOf } from '../frames/function-of.ts';
export { innerClosure } from '../frames/inner-closure.ts';
export { arrayIteratorAt, IteratorRecord, nameIteratorAt } from '../language/iterator-record.ts';

type StepResult =
  | { readonly kind: 'next' }
  | { readonly kind: 'return'; readonly value: unknown }
  /** The frame remains suspended until `resumeWith`. */
  | { readonly kind: 'await'; readonly value: unknown }
  /** A generator is suspended here; its driver resumes it. */
  | { readonly kind: 'suspend'; readonly value: unknown }
  /** The instruction threw, and the frame is at its handler. */
  | { readonly kind: 'caught'; readonly error: unknown };

const next: StepResult = { kind: 'next' };

/**
 * Executes exactly one instruction natively and advances the pc. An exception that the frame doesn't catch leaves
 * the pc on the instruction, closes the frame's open iterators, and propagates.
 */
export function step(frame: Frame): StepResult {
  const instruction = instructionAt(frame);
  if (instruction.op === 'return') {
    return { kind: 'return', value: frame.registers[instruction.src] };
  }
  if (instruction.op === 'await') return { kind: 'await', value: frame.registers[instruction.src] };
  if (instruction.op === 'yield') {
    return { kind: 'suspend', value: frame.registers[instruction.src] };
  }
  if (instruction.op === 'generatorStart') return { kind: 'suspend', value: undefined };
  try {
    perform(frame, instruction, machineFor);
  } catch (error) {
    if (!catchIn(frame, frame.pc, error)) throw error;
    return { kind: 'caught', error };
  }
  return next;
}

/** A call that continues as a bytecode frame. */
interface EnteredCall {
  readonly closure: Closure;
  readonly thisValue: unknown;
  readonly args: readonly unknown[];
}

interface RunHooks {
  /** Called at `call` and `callSpread`. Returns undefined to make the call natively. */
  enterCall?(
    callee: unknown,
    thisValue: unknown,
    args: readonly unknown[],
  ): EnteredCall | undefined;
  /**
   * Called after each instruction other than a return; for an entered call, after its return. `before`: the
   * previous content of the result register.
   */
  afterInstruction?(frame: Frame, pc: Pc, instruction: Instruction, before: unknown): void;
  /** Called before the frame is popped. */
  onReturn?(frame: Frame, value: unknown): void;
  /** Called after an exception has popped the frame, because a frame below catches it. */
  onUnwind?(frame: Frame): void;
}

/**
 * Runs a stack of frames of synchronous code, innermost last, until the outermost frame returns. A frame below another
 * has its pc after the call, and receives the value in the upper frame's `returnTo`. The array is always the current
 * stack; an uncaught exception leaves it unchanged, so that positions are known.
 */
export function runFrames(frames: Frame[], hooks: RunHooks = {}): unknown {
  return withPositionProvider(
    () => positionOf(frames),
    () => {
      for (;;) {
        try {
          return loop(frames, hooks);
        } catch (error) {
          showCapturedFrames(error, frames);
          const top = frames.length - 1;
          const frame = frames[top]!;
          if (catchIn(frame, frame.pc, error)) continue;
          if (!unwindTo(frames, top, error, hooks.onUnwind)) throw error;
        }
      }
    },
  );
}

function loop(frames: Frame[], hooks: RunHooks): unknown {
  for (;;) {
    const frame = frames[frames.length - 1]!;
    const { pc } = frame;
    const instruction = instructionAt(frame);
    if (instruction.op === 'return') {
      const value = frame.registers[instruction.src];
      hooks.onReturn?.(frame, value);
      frames.pop();
      const caller = frames[frames.length - 1];
      if (!caller) return value;
      const { returnTo } = frame;
      const before = returnTo === undefined ? undefined : caller.registers[returnTo];
      if (returnTo !== undefined) caller.registers[returnTo] = value;
      const callPc = caller.pc - 1;
      hooks.afterInstruction?.(caller, callPc, caller.closure.code.instructions[callPc]!, before);
      continue;
    }
    const entered = hooks.enterCall && enteredFrame(frame, instruction, hooks);
    if (entered) {
      frame.pc = pc + 1;
      frames.push(entered);
      continue;
    }
    const { op } = instruction;
    invariant(op !== 'await' && op !== 'yield' && op !== 'generatorStart', 'such code is driven');
    const written = hooks.afterInstruction && writes(instruction);
    const before = written === undefined ? undefined : frame.registers[written];
    perform(frame, instruction as Performed, machineFor);
    hooks.afterInstruction?.(frame, pc, instruction, before);
  }
}

function enteredFrame(frame: Frame, instruction: Instruction, hooks: RunHooks): Frame | undefined {
  if (instruction.op !== 'call' && instruction.op !== 'callSpread') return undefined;
  const { registers } = frame;
  const callee = registers[instruction.callee];
  const thisValue = instruction.receiver === null ? undefined : registers[instruction.receiver];
  const args =
    instruction.op === 'call'
      ? instruction.args.map((register) => registers[register])
      : (registers[instruction.args] as unknown[]);
  const call = hooks.enterCall?.(callee, thisValue, args);
  if (!call) return undefined;
  return { ...activate(call.closure, call.thisValue, call.args), returnTo: instruction.dst };
}

const instructionAt = (frame: Frame): Instruction => frame.closure.code.instructions[frame.pc]!;

/**
 * Returns the position that errors report for a stack of frames, as in eager execution: in the user's own files.
 * Undefined if all frames are code of this package.
 */
export function positionOf(frames: readonly Frame[]): SourcePosition | undefined {
  const top = frames.length - 1;
  for (let i = top; i >= 0; i--) {
    const { closure, pc } = frames[i]!;
    const { code } = closure;
    // A caller's pc is already past its call.
    const at = i === top ? pc : pc - 1;
    if (code.instructions[at] && ownPartOfFile(code.source.file) === null)
      return raisingPosition(code, at);
  }
  return undefined;
}

/** Returns a real generator that continues where a traced one stopped. */
export function resumedGenerator(
  frame: Frame,
  state: 'start' | 'yield' | 'running' | 'done',
): Generator {
  return generatorAt(frame, machineFor(frame.closure.code), state);
}

/**
 * Returns a real function for inner code, run by the generated machine. An arrow gets the `this` that it captured;
 * any other function has its own.
 */
export function instantiate(
  code: Code,
  scope: Scope,
  cells: readonly Cell[],
  thisValue: unknown,
  homeObject?: object,
  newTarget?: unknown,
): (...args: never[]) => unknown {
  const lexicalThis =
    code.kind === 'arrow' ? { value: thisValue, newTarget, closure: undefined } : undefined;
  const closure = newClosure({ code, scope, cells, homeObject, lexicalThis, fn: undefined });
  return functionOf(closure, machineFor) as (...args: never[]) => unknown;
}
