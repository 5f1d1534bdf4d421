import type { Code } from './code.ts';

const known = new WeakMap<Code, boolean>();

/** Whether the code, or an arrow in it, looks a property up above its home object. */
export function usesSuper(code: Code): boolean {
  let uses = known.get(code);
  if (uses === undefined) {
    const arrows = code.inner.filter(({ kind }) => kind === 'arrow');
    uses = code.instructions.some(({ op }) => op.startsWith('getSuper')) || arrows.some(usesSuper);
    known.set(code, uses);
  }
  return uses;
}
