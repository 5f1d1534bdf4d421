import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { InstructionOf } from '../bytecode/instructions.ts';
import { Suspended } from './suspended.ts';
import { catchIn } from './unwind.ts';

/** Makes the frame of a call. */
export type Begin = (thisValue: unknown, args: readonly unknown[]) => Frame;

/** How the engine continues with a generator. */
export type Completion = 'next' | 'throw' | 'return';

/**
 * The argument list of a generator function. Its parameter takes a length and is given the frame, in the key of a
 * pattern: so only what every list has of its own is read.
 */
export type Arguments = unknown[] & { readonly length: Frame };

/** Gives the frame to the parameter, and returns a key that every list has. */
export function taken(frame: Frame, give: (frame: Arguments['length']) => void): 'length' {
  give(frame as Arguments['length']);
  return 'length';
}

/**
 * Returns the suspension at which the frame of a generator stands: a value that it yields, or waits for; undefined if
 * it stands elsewhere.
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

/** The engine's side of a `yield` or `await` is done. */
export function goOn(frame: Frame, completion: Completion, value: unknown): void {
  if (completion === 'throw') {
    if (!catchIn(frame, frame.pc, value)) throw value;
    return;
  }
  const instruction = frame.closure.code.instructions[frame.pc] as InstructionOf<'yield' | 'await'>;
  frame.registers[instruction.dst] = value;
  frame.pc = completion === 'return' && 'target' in instruction ? instruction.target : frame.pc + 1;
}
