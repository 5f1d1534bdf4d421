import type { Code } from '../bytecode/code.ts';
import { writes } from '../bytecode/effects.ts';
import type { Instruction } from '../bytecode/instructions.ts';
import { type Reg, reg } from '../bytecode/instructions.ts';

/**
 * Registers as numbers that repeat from one expression to the next: variables by index, temporaries by distance from
 * the last temporary that an instruction wrote.
 */
export class RegisterNumbers {
  readonly #variables: number;
  #last: number;

  constructor({ registerNames }: Pick<Code, 'registerNames'>) {
    const temporary = registerNames.indexOf(undefined);
    this.#variables = temporary < 0 ? registerNames.length : temporary;
    this.#last = this.#variables;
  }

  numberOf(register: Reg): number {
    if (register < this.#variables) return 2 * register;
    const distance = register - this.#last;
    return 1 + 2 * (distance > 0 ? 2 * distance - 1 : -2 * distance);
  }

  registerOf(number: number): Reg {
    if (number % 2 === 0) return reg(number / 2);
    const distance = (number - 1) / 2;
    return reg(this.#last + (distance % 2 === 1 ? (distance + 1) / 2 : -distance / 2));
  }

  /** Called after each instruction. */
  after(instruction: Instruction): void {
    const written = writes(instruction);
    if (written !== undefined && written >= this.#variables) this.#last = written;
  }
}
