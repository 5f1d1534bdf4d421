import type { Code } from '../assembler/code.ts';
import type { FunctionBuilder, Local } from '../assembler/function-builder.ts';
import { type GeometryWord, word } from './conv-code.ts';

export interface Factors {
  readonly weight: Local;
  readonly rows: Local;
  readonly columns: Local;
}

/** Emits the product of weights and patches in a function that has the geometry's address in a local. */
export abstract class ConvPart {
  protected readonly f: FunctionBuilder;
  protected readonly factors: Factors;
  readonly #geometry: Local;

  constructor(f: FunctionBuilder, geometry: Local, factors: Factors) {
    this.f = f;
    this.factors = factors;
    this.#geometry = geometry;
  }

  protected own(name: GeometryWord): Code {
    return word(this.#geometry, name);
  }
}
