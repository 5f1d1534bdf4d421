import type { Code } from './code.ts';
import type { Instruction } from './instructions.ts';

const known = new WeakMap<Code, boolean>();

/** Returns whether the code, or an arrow in it, uses `super`. */
export function usesSuper(code: Code): boolean {
  let uses = known.get(code);
  if (uses === undefined) {
    const arrows = code.inner.filter(({ kind }) => kind === 'arrow');
    uses = code.instructions.some(isSuper) || arrows.some(usesSuper);
    known.set(code, uses);
  }
  return uses;
}

const isSuper = (instruction: Instruction): boolean =>
  instruction.op.startsWith('getSuper') ||
  (instruction.op === 'intrinsic' && instruction.name === 'superBase');
