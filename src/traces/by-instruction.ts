import type { Code } from '../vm/bytecode/code.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';

/** Values of instructions, by code and position. */
export class ByInstruction<V> {
  readonly #codes = new WeakMap<Code, Map<Pc, V>>();
  isEmpty = true;

  get(code: Code, pc: Pc): V | undefined {
    return this.#codes.get(code)?.get(pc);
  }

  set(code: Code, pc: Pc, value: V): void {
    const values = this.#codes.get(code) ?? new Map<Pc, V>();
    this.#codes.set(code, values.set(pc, value));
    this.isEmpty = false;
  }
}
