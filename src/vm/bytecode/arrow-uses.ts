import type { Code } from './code.ts';
import type { Instruction } from './instructions.ts';

/** Returns a function that checks whether a code, or an arrow in it, has such an instruction. */
function usedIn(test: (instruction: Instruction) => boolean): (code: Code) => boolean {
  const known = new WeakMap<Code, boolean>();
  return function isUsed(code) {
    let uses = known.get(code);
    if (uses === undefined) {
      const arrows = code.inner.filter(({ kind }) => kind === 'arrow');
      uses = code.instructions.some(test) || arrows.some(isUsed);
      known.set(code, uses);
    }
    return uses;
  };
}

const isSuper = (instruction: Instruction): boolean =>
  instruction.op.startsWith('getSuper') ||
  (instruction.op === 'intrinsic' && instruction.name === 'superBase');

/** Returns whether the code, or an arrow in it, uses `super`. */
export const usesSuper = /* @__PURE__ */ usedIn(isSuper);

/** Returns whether the code, or an arrow in it, reads `this`, which `super` does too. */
export const usesThis = /* @__PURE__ */ usedIn((each) => each.op === 'this' || isSuper(each));

/** Returns whether the code, or an arrow in it, reads `new.target`. */
export const usesNewTarget = /* @__PURE__ */ usedIn(({ op }) => op === 'newTarget');
