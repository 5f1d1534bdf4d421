import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { ProgramAround } from '../control-flow/plans/copied-views.ts';
import type { TapeCall } from './tape.ts';

/** A program under construction, as seen by a region nested in it. */
export interface Surroundings extends ProgramAround {
  /** The tensor API calls of this program. */
  readonly tape: TapeCall[];
  /** Returns this program's value for a tensor of an enclosing program, or for a tensor with data. */
  capture(tensor: Tensor): Tensor;
}

/** Tracks which of the nested programs is currently being built. */
export class NestedSurroundings {
  readonly root: Surroundings;
  #current: Surroundings;

  constructor(root: Surroundings) {
    this.root = root;
    this.#current = root;
  }

  get current(): Surroundings {
    return this.#current;
  }

  get isNested(): boolean {
    return this.#current !== this.root;
  }

  within<T>(surroundings: Surroundings, body: () => T): T {
    const outer = this.#current;
    this.#current = surroundings;
    try {
      return body();
    } finally {
      this.#current = outer;
    }
  }
}
