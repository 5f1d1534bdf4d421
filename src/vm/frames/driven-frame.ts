import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { InstructionOf } from '../bytecode/instructions.ts';
import { Suspended } from './suspended.ts';
import { catchIn } from './unwind.ts';

/** Creates the frame of a call. */
export type Begin = (thisValue: unknown, args: readonly unknown[]) => Frame;

/** How the engine resumes a generator. */
export type Completion = 'next' | 'throw' | 'return';

/**
 * The rest parameter of a generator function. It is destructured into a length, whose variable receives the frame from
 * a computed key of the pattern: this reads only own properties that every list has.
 */
export type Arguments = unknown[] & { readonly length: Frame };

/** Passes the frame to the parameter, and returns a key that every list has. */
export function taken(frame: Frame, give: (frame: Arguments['length']) => void): 'length' {
  give(frame as Arguments['length']);
  return 'length';
}

/**
 * Returns the suspension of a generator's frame: a value that it yields or awaits; undefined if the frame is
 * elsewhere.
 */
export function suspensionOf(frame: Frame): Suspended | undefined {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  if (instruction.op !== 'yield' && instruction.op !== 'await') return undefined;
  return new Suspended(frame.registers[instruction.src]);
}

export function yieldAt({ closure, pc }: Frame): {
  readonly mode: InstructionOf<'yield'>['mode'] | 'await';
} {
  const instruction = closure.code.instructions[pc]!;
  if (instruction.op === 'yield') return instruction;
  invariant(instruction.op === 'await', 'a generator stops where it yields or waits');
  return { mode: 'await' };
}

/** Resumes the frame after the engine has completed a `yield` or `await`. */
export function continueWith(frame: Frame, completion: Completion, value: unknown): void {
  if (completion === 'throw') {
    if (!catchIn(frame, frame.pc, value)) throw value;
    return;
  }
  const instruction = frame.closure.code.instructions[frame.pc] as InstructionOf<'yield' | 'await'>;
  frame.registers[instruction.dst] = value;
  frame.pc = completion === 'return' && 'target' in instruction ? instruction.target : frame.pc + 1;
}
