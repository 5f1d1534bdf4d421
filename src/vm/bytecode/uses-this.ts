import type { Code } from './code.ts';
import { usesSuper } from './uses-super.ts';

const known = new WeakMap<Code, boolean>();

/** Returns whether the code, or an arrow in it, reads `this`. */
export function usesThis(code: Code): boolean {
  let uses = known.get(code);
  if (uses === undefined) {
    const arrows = code.inner.filter(({ kind }) => kind === 'arrow');
    const reads = code.instructions.some(({ op }) => op === 'this');
    uses = reads || usesSuper(code) || arrows.some(usesThis);
    known.set(code, uses);
  }
  return uses;
}
