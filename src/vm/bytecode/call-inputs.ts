import type { Code } from './code.ts';
import { successors } from './effects.ts';
import type { Opcode, Pc } from './instructions.ts';
import { protectionAt } from './protection.ts';

const readsArguments: ReadonlySet<Opcode> = new Set<Opcode>(['arg', 'restArgs', 'arguments']);

const known = new WeakMap<Code, Map<Pc, boolean>>();

/**
 * Returns whether an activation at `pc` may still need its arguments. Usually it doesn't, since parameters are
 * moved into registers at the start; the arguments need not be kept then.
 */
export function needsArguments(code: Code, pc: Pc): boolean {
  let byPc = known.get(code);
  if (!byPc) {
    byPc = new Map();
    known.set(code, byPc);
  }
  let needs = byPc.get(pc);
  if (needs === undefined) {
    needs = reachable(code, pc).some((opcode) => readsArguments.has(opcode));
    byPc.set(pc, needs);
  }
  return needs;
}

/**
 * Returns the opcodes reachable by jumps and exceptions, including exceptions from the call before `pc` that the
 * activation may be waiting for.
 */
function reachable(code: Code, from: Pc): Opcode[] {
  // An activation that has returned is past its last instruction.
  const seen = new Set<Pc>(from < code.instructions.length ? [from] : []);
  const handler = (pc: Pc) => {
    const region = protectionAt(code, pc);
    if (region) seen.add(region.target);
  };
  if (from > 0) handler(from - 1);
  for (const pc of seen) {
    handler(pc);
    for (const next of successors(code, pc)) seen.add(next);
  }
  return [...seen].map((pc) => code.instructions[pc]!.op);
}
