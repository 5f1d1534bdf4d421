import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { ProgramAround } from '../control-flow/plans/copied-views.ts';
import type { TapeCall } from './tape.ts';

/** A program under construction, as seen by a region nested in it. */
export interface EnclosingProgram extends ProgramAround {
  /** The tensor API calls of this program. */
  readonly tape: TapeCall[];
  /** Returns this program's value for a tensor of an enclosing program, or for a tensor with data. */
  capture(tensor: Tensor): Tensor;
  /** Called after a rollback that leaves this many values. */
  forget?(count: number): void;
}

/** Tracks which of the nested programs is currently being built. */
export class NestedProgram {
  readonly root: EnclosingProgram;
  #current: EnclosingProgram;

  constructor(root: EnclosingProgram) {
    this.root = root;
    this.#current = root;
  }

  get current(): EnclosingProgram {
    return this.#current;
  }

  get isNested(): boolean {
    return this.#current !== this.root;
  }

  within<T>(surroundings: EnclosingProgram, body: () => T): T {
    const outer = this.#current;
    this.#current = surroundings;
    try {
      return body();
    } finally {
      this.#current = outer;
    }
  }
}
