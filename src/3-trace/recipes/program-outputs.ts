import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { freedBelow, isDifferentiable } from '../state/recorded-graph.ts';
import type { ListVariable } from '../variables/growable-list.ts';

/** The graph values needed after the run, in the order in which they were requested. */
export class ProgramOutputs {
  readonly values: ValueId[] = [];
  readonly tensors: Tensor[] = [];
  /** Indices of the outputs whose handles may also represent other outputs. */
  readonly handles = new Set<number>();
  readonly #builder: ProgramBuilder;
  /** The output index of each traced tensor. */
  readonly #numbers = new Map<Tensor, number>();
  readonly #scalars = new Map<Tensor, number>();

  constructor(builder: ProgramBuilder) {
    this.#builder = builder;
  }

  /** Returns whether the tensor is reachable after the run. */
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

  /** Indices of the outputs that are read as numbers and freed. */
  reads(): number[] {
    return [...this.#scalars.values()];
  }

  /** Returns a separate output, because it is freed when it is read. */
  ofScalar(tensor: Tensor): number {
    const known = this.#scalars.get(tensor);
    if (known !== undefined) return known;
    this.tensors.push(tensor);
    const index = this.values.push(this.#builder.valueOf(tensor)) - 1;
    this.#scalars.set(tensor, index);
    return index;
  }

  /** Returns a separate output, because it is split into its elements. */
  ofList({ tensor }: ListVariable): number {
    this.tensors.push(tensor);
    return this.values.push(this.#builder.valueOf(tensor)) - 1;
  }

  /** Returns for each output whether it has an autograd graph that no backward has freed. */
  differentiable(): boolean[] {
    return this.tensors.map((tensor) => isDifferentiable(tensor, this.#builder));
  }

  /** Returns for each output the op at which backward finds its graph freed. */
  lost(): (string | null)[] {
    return this.tensors.map((tensor) => freedBelow(tensor, this.#builder));
  }
}
