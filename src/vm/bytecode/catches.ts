import type { Code } from './code.ts';
import { successors } from './effects.ts';
import type { Pc } from './instructions.ts';
import { protectionAt } from './protection.ts';

/** Whether the code may continue after an exception at this pc: its handler does more than clean up and rethrow. */
export function catches(code: Code, pc: Pc): boolean {
  const handler = protectionAt(code, pc);
  const pending = handler ? [handler.target] : [];
  const seen = new Set<Pc>();
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const { op } = code.instructions[at]!;
    if (op === 'return') return true;
    const outer = op === 'throw' ? protectionAt(code, at) : undefined;
    pending.push(...(outer ? [outer.target] : successors(code, at)));
  }
  return false;
}
