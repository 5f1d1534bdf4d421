import type { Frame } from '../bytecode/frame.ts';
import type { AnyFunction } from '../language/return-override.ts';
import type { Begin } from './driven-frame.ts';
import type { Machine } from './machine.ts';
import { Suspended } from './suspended.ts';
import { catchIn } from './unwind.ts';

/**
 * Returns an async function whose calls run frames. At an `await`, the machine returns and the frame is data; the
 * call awaits in its place, so that microtasks run in the native order. Never a constructor.
 */
export const asyncCallable = (begin: Begin, machine: Machine): AnyFunction =>
  ({
    async call(this: unknown, ...args: unknown[]): Promise<unknown> {
      const frame = begin(this, args);
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
    },
  }).call;

/** Stores the value of the frame's pending `await`, and moves past it. */
export function resumeWith(frame: Frame, value: unknown): void {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  if (instruction.op === 'await') frame.registers[instruction.dst] = value;
  frame.pc++;
}

/** Returns the value that the frame's current `await` waits for; undefined if the frame is elsewhere. */
export function awaitedBy(frame: Frame): { readonly value: unknown } | undefined {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  return instruction.op === 'await' ? { value: frame.registers[instruction.src] } : undefined;
}
