import { type Reg, reg } from './instructions.ts';

/** A set of registers as bits; iterates in ascending order. */
export class RegisterSet implements Iterable<Reg> {
  private readonly words: Uint32Array;

  constructor(readonly registerCount: number) {
    this.words = new Uint32Array((registerCount + 31) >> 5);
  }

  has(register: Reg): boolean {
    return ((this.words[register >> 5]! >>> (register & 31)) & 1) === 1;
  }

  add(register: Reg): void {
    this.words[register >> 5]! |= 1 << (register & 31);
  }

  delete(register: Reg): void {
    this.words[register >> 5]! &= ~(1 << (register & 31));
  }

  /** Adds all registers; returns true if the set has grown. */
  addAll(other: RegisterSet): boolean {
    let grew = false;
    for (let i = 0; i < this.words.length; i++) {
      const before = this.words[i]!;
      const after = (before | other.words[i]!) >>> 0;
      if (after === before) continue;
      this.words[i] = after;
      grew = true;
    }
    return grew;
  }

  copy(): RegisterSet {
    const copy = new RegisterSet(this.registerCount);
    copy.words.set(this.words);
    return copy;
  }

  *[Symbol.iterator](): Generator<Reg> {
    for (let i = 0; i < this.registerCount; i++) if (this.has(reg(i))) yield reg(i);
  }
}
