import { ArgumentError } from '../errors/errors.ts';
import { Module } from '../nn/module/module.ts';
import { buffer, parameter } from '../nn/module/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type CompiledGraph, runGraph } from './graph.ts';
import { hostOf, type Operand, tensorOf } from './values/host.ts';

/** A weight: its name, its slot in the graph, and whether it is learned. */
export interface ModelWeight {
  readonly name: string;
  readonly slot: number;
  readonly tensor: Tensor;
  readonly isTrained: boolean;
}

/** A model's argument for one input: a tensor, or a number if the input is a scalar. */
export type ModelInput = Tensor | number | bigint | boolean;

/**
 * An imported model: a module whose parameters and buffers are the model's weights under their own names.
 * `forward` takes the inputs in the order of `inputNames` and returns a tensor, or an array in the order of
 * `outputNames`.
 */
export class OnnxModule extends Module {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly #graph: CompiledGraph;
  readonly #names: readonly string[];
  readonly #slots: readonly number[];
  readonly weights: Tensor[];

  constructor(
    graph: CompiledGraph,
    weights: readonly ModelWeight[],
    inputNames: readonly string[],
    outputNames: readonly string[],
  ) {
    super();
    this.#graph = graph;
    this.inputNames = inputNames;
    this.outputNames = outputNames;
    this.#names = weights.map(({ name }) => name);
    this.#slots = weights.map(({ slot }) => slot);
    this.weights = weights.map(({ tensor, isTrained }) =>
      isTrained ? parameter(tensor) : buffer(tensor),
    );
  }

  protected override ownValues(): Iterable<[string, unknown]> {
    return this.#names.map((name, i) => [name, this.weights[i]]);
  }

  override *tensorHolders(): Generator<object> {
    yield this.weights;
  }

  override forward(...inputs: ModelInput[]): Tensor | Tensor[] {
    if (inputs.length !== this.inputNames.length) throw wrongCount(inputs.length, this.inputNames);
    const values: Operand[] = [];
    for (let i = 0; i < this.#slots.length; i++) values[this.#slots[i]!] = this.weights[i]!;
    const operands: Operand[] = [];
    for (let i = 0; i < inputs.length; i++) operands.push(operandOf(inputs[i]!));
    const outputs: Tensor[] = [];
    for (const output of runGraph(this.#graph, values, operands)) outputs.push(tensorOf(output!));
    return outputs.length === 1 ? outputs[0]! : outputs;
  }
}

function operandOf(input: ModelInput): Operand {
  if (typeof input === 'object') return input;
  return hostOf([Number(input)], [], Number.isInteger(Number(input)) ? 'int32' : 'float32');
}

function wrongCount(given: number, names: readonly string[]): ArgumentError {
  return new ArgumentError({
    what: 'OnnxModule: wrong number of inputs',
    given: `${given}`,
    expected: `${names.length}: ${names.join(', ')}`,
    remedy: 'pass the inputs in the order of inputNames',
  });
}
