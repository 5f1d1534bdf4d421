import type { Code } from '../vm/bytecode/code.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';

/** A frame of a stack: its position is the current instruction, or one past the call for which it waits. */
interface Positioned {
  readonly closure: { readonly code: Code };
  readonly pc: Pc;
}

/** The calls that one captured function has been seen to make, and those in which tensor ops ran. */
export class OpSites {
  readonly #seen = new WeakMap<Code, Set<Pc>>();
  readonly #withOps = new WeakMap<Code, Set<Pc>>();
  #count = 0;

  /** The number of instructions in which an op was met. */
  get count(): number {
    return this.#count;
  }

  noteCall(code: Code, pc: Pc): void {
    add(this.#seen, code, pc);
  }

  /** An op was appended, or ran, at the innermost frame's instruction. */
  noteOp(frames: readonly Positioned[]): void {
    const top = frames.length - 1;
    frames.forEach(({ closure: { code }, pc }, i) => {
      if (add(this.#withOps, code, i === top ? pc : ((pc - 1) as Pc))) this.#count++;
    });
  }

  /** Whether the call has been followed, and no tensor op was met in it. */
  hasNone(code: Code, pc: Pc): boolean {
    return this.#seen.get(code)?.has(pc) === true && !this.mayHave(code, pc);
  }

  /** Whether a tensor op was met at the instruction. */
  mayHave(code: Code, pc: Pc): boolean {
    return this.#withOps.get(code)?.has(pc) === true;
  }
}

/** Returns whether the instruction is new. */
function add(sites: WeakMap<Code, Set<Pc>>, code: Code, pc: Pc): boolean {
  const known = sites.get(code);
  if (known?.has(pc)) return false;
  if (known) known.add(pc);
  else sites.set(code, new Set([pc]));
  return true;
}
