import type { Code } from '../vm/bytecode/code.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import { ByInstruction } from './by-instruction.ts';

/** A frame of a stack: its position is the current instruction, or one past the call for which it waits. */
interface Positioned {
  readonly closure: { readonly code: Code };
  readonly pc: Pc;
}

/** The calls that one captured function has been seen to make, and those in which tensor ops ran. */
export class OpSites {
  readonly #seen = new ByInstruction<true>();
  readonly #withOps = new ByInstruction<true>();
  #count = 0;

  /** The number of instructions in which an op was met. */
  get count(): number {
    return this.#count;
  }

  noteCall(code: Code, pc: Pc): void {
    this.#seen.set(code, pc, true);
  }

  /** An op was appended, or ran, at the innermost frame's instruction. */
  noteOp(frames: readonly Positioned[]): void {
    const top = frames.length - 1;
    frames.forEach(({ closure: { code }, pc }, i) => {
      const at = i === top ? pc : ((pc - 1) as Pc);
      if (this.mayHave(code, at)) return;
      this.#withOps.set(code, at, true);
      this.#count++;
    });
  }

  /** Whether the call has been followed, and no tensor op was met in it. */
  hasNone(code: Code, pc: Pc): boolean {
    return this.#seen.get(code, pc) === true && !this.mayHave(code, pc);
  }

  /** Whether a tensor op was met at the instruction. */
  mayHave(code: Code, pc: Pc): boolean {
    return this.#withOps.get(code, pc) === true;
  }
}
