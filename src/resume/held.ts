import type { Code } from '../bytecode/code.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { liveBefore, liveDuring } from '../bytecode/liveness.ts';

/** Whether the frame may still read the value: from a live register, or an argument not yet taken. */
export function mayRead({ closure, pc, registers, args }: Frame, value: unknown): boolean {
  const { code } = closure;
  for (const register of liveBefore(code)[pc]!) if (registers[register] === value) return true;
  // A frame that waits for its call may also go on at the handler of a throw.
  const waits = pc > 0 && code.instructions[pc - 1]!.op.startsWith('call');
  for (const register of waits ? liveDuring(code, pc - 1) : []) {
    if (registers[register] === value) return true;
  }
  return args.some((arg, index) => arg === value && pc <= lastTaken(closure.code, index));
}

const lastTakenOf = new WeakMap<Code, readonly Pc[]>();

/** The last instruction that takes argument number `index`; -1 when none does. */
function lastTaken(code: Code, index: number): Pc {
  let last = lastTakenOf.get(code);
  if (!last) {
    const found: Pc[] = [];
    code.instructions.forEach((instruction, pc) => {
      if (instruction.op === 'arg') found[instruction.index] = pc;
    });
    last = found;
    lastTakenOf.set(code, last);
  }
  return last[index] ?? -1;
}
