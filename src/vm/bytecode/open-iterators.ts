import type { Code } from './code.ts';
import { effectOf, handlerOf, successors } from './effects.ts';
import { type Pc, reg } from './instructions.ts';
import type { ProtectedRegion } from './protection.ts';
import { RegisterSet } from './register-set.ts';

/**
 * Returns, for each instruction, the registers whose iterators may be open before it: opened by `getIterator`, and
 * neither exhausted nor closed. An exception at the instruction must close them.
 */
export function openIterators(code: Code): readonly RegisterSet[] {
  const open = code.instructions.map(() => new RegisterSet(code.registerCount));
  if (!code.instructions.some((each) => effectOf(each).result === 'iterator')) return open;
  const pending: Pc[] = code.instructions.map((_, pc) => pc).reverse();
  for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
    for (const next of successors(code, pc)) {
      if (open[next]!.addAll(openAfterEdge(code, pc, next, open[pc]!))) pending.push(next);
    }
    const handler = handlerOf(code, pc);
    if (handler && open[handler.target]!.addAll(openInHandler(handler, open[pc]!))) {
      pending.push(handler.target);
    }
  }
  return open;
}

/** The try statement's own iterators are already closed in its handler. */
function openInHandler({ error }: ProtectedRegion, before: RegisterSet): RegisterSet {
  const after = before.copy();
  for (let r = error + 1; r < after.registerCount; r++) after.delete(reg(r));
  return after;
}

function openAfterEdge(code: Code, pc: Pc, next: Pc, before: RegisterSet): RegisterSet {
  const instruction = code.instructions[pc]!;
  const after = before.copy();
  switch (instruction.op) {
    case 'getIterator':
    case 'getKeyIterator':
      after.add(instruction.dst);
      break;
    case 'iteratorClose':
      after.delete(instruction.iterator);
      break;
    case 'iteratorNext':
      // If the exhausted and the ordinary path join immediately, the iterator stays open on the ordinary one.
      if (next === instruction.done && next !== pc + 1) after.delete(instruction.iterator);
      break;
    default:
  }
  return after;
}
