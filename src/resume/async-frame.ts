import type { Frame } from '../bytecode/frame.ts';
import type { Machine } from './function-of.ts';
import { Suspended } from './suspended.ts';
import { catchIn } from './unwind.ts';

/**
 * Runs the frame of an async function. At an `await` the machine returns and the frame is data; this
 * function waits in its place, so that everybody's turn comes when it does natively.
 */
export async function drive(frame: Frame, machine: Machine): Promise<unknown> {
  for (;;) {
    const result = machine(frame);
    if (!Suspended.is(result)) return result;
    let value: unknown;
    try {
      value = await result.value;
    } catch (error) {
      if (!catchIn(frame, frame.pc, error)) throw error;
      continue;
    }
    resumeWith(frame, value);
  }
}

/** The `await` that the frame stands at has its value. */
export function resumeWith(frame: Frame, value: unknown): void {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  if (instruction.op === 'await') frame.registers[instruction.dst] = value;
  frame.pc++;
}

/** What the `await` that the frame stands at waits for; undefined: it stands elsewhere. */
export function awaitedBy(frame: Frame): { readonly value: unknown } | undefined {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  return instruction.op === 'await' ? { value: frame.registers[instruction.src] } : undefined;
}
