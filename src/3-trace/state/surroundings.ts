import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { TapeCall } from './tape.ts';

/** A program under construction, as a region in it finds its values. */
export interface Surroundings {
  readonly builder: ProgramBuilder;
  /** The calls of the tensor API for this program. */
  readonly tape: TapeCall[];
  /** The value of this program that represents a tensor of a program further out, or one with data. */
  capture(tensor: Tensor): Tensor;
}

/** The program that is being followed at present, out of those around it. */
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
