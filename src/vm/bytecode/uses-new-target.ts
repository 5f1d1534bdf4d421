import type { Code } from './code.ts';

const known = new WeakMap<Code, boolean>();

/** Returns whether the code, or an arrow in it, reads `new.target`. */
export function usesNewTarget(code: Code): boolean {
  let uses = known.get(code);
  if (uses === undefined) {
    const arrows = code.inner.filter(({ kind }) => kind === 'arrow');
    uses = code.instructions.some(({ op }) => op === 'newTarget') || arrows.some(usesNewTarget);
    known.set(code, uses);
  }
  return uses;
}
