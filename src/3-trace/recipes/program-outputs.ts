import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { freedBelow, isDifferentiable } from '../state/recorded-graph.ts';
import type { ListVariable } from '../variables/growable-list.ts';

/** The values of the program that are requested after the run, in the order of the requests. */
export class ProgramOutputs {
  readonly values: ValueId[] = [];
  readonly tensors: Tensor[] = [];
  readonly #builder: ProgramBuilder;
  /** The output number of each tensor of the trace. */
  readonly #numbers = new Map<Tensor, number>();
  readonly #scalars = new Map<Tensor, number>();

  constructor(builder: ProgramBuilder) {
    this.#builder = builder;
  }

  /** This tensor is reachable after the run. */
  has(tensor: Tensor): boolean {
    return this.#numbers.has(tensor);
  }

  of(tensor: Tensor): number {
    const known = this.#numbers.get(tensor);
    if (known !== undefined) return known;
    this.#numbers.set(tensor, this.values.length);
    this.tensors.push(tensor);
    return this.values.push(this.#builder.valueOf(tensor)) - 1;
  }

  /** Numbers of the outputs that are read and freed. */
  reads(): number[] {
    return [...this.#scalars.values()];
  }

  /** An output of its own, since it is freed when it is read. */
  ofScalar(tensor: Tensor): number {
    const known = this.#scalars.get(tensor);
    if (known !== undefined) return known;
    this.tensors.push(tensor);
    const index = this.values.push(this.#builder.valueOf(tensor)) - 1;
    this.#scalars.set(tensor, index);
    return index;
  }

  /** An output of its own, which is taken apart. */
  ofList({ tensor }: ListVariable): number {
    this.tensors.push(tensor);
    return this.values.push(this.#builder.valueOf(tensor)) - 1;
  }

  /** Whether each output has a graph that no backward has freed. */
  differentiable(): boolean[] {
    return this.tensors.map((tensor) => isDifferentiable(tensor, this.#builder));
  }

  /** For each output, the op at which a backward finds that its graph is freed. */
  lost(): (string | null)[] {
    return this.tensors.map((tensor) => freedBelow(tensor, this.#builder));
  }
}
