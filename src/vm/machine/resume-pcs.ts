import type { Code } from '../bytecode/code.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { protectionAt } from '../bytecode/protection.ts';

/**
 * Returns the pcs at which a call of the code is entered: its start, and wherever it may continue after suspending
 * itself at an `await` or `yield`.
 */
export function resumePoints(code: Code): Pc[] {
  const points = new Set<Pc>([0]);
  for (const [pc, instruction] of code.instructions.entries()) {
    const { op } = instruction;
    if (op !== 'await' && op !== 'yield' && op !== 'generatorStart') continue;
    points.add(pc + 1);
    if (op === 'yield') points.add(instruction.target);
    const region = protectionAt(code, pc);
    if (region) points.add(region.target);
  }
  return [...points];
}
