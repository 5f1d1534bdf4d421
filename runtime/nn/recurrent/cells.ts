import { ArgumentError } from '../../errors/errors.ts';
import { narrow } from '../../ops/movement/movement.ts';
import { zerosLike } from '../../ops/movement/ranges.ts';
import { add, mul, relu, sigmoid, sub, tanh } from '../../ops/pointwise/pointwise.ts';
import { linear } from '../../ops/products/matmul.ts';
import { expectTensorList } from '../../ops/record/expect-tensors.ts';
import { expectSizes } from '../../options/expect-arguments.ts';
import { expectOptions, type OptionKinds } from '../../options/expect-options.ts';
import { flag, oneOf } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { Module } from '../module/module.ts';
import { kaimingUniform, type Parameter } from '../module/parameter.ts';

export interface CellOptions {
  /** True by default. */
  readonly bias?: boolean;
}

/** A cell's state between two steps: the hidden vector, which is also the output, comes first. */
export type CellState = readonly [hidden: Tensor, ...others: Tensor[]];

/** Tensors that a step multiplies its state with: read once for all steps, because reading may compute them. */
export interface StepWeights {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  /** That of the output. */
  readonly projection?: Tensor;
}

/**
 * The weights of a recurrent cell, stacked for all gates: weightIh [gates · hidden, input], weightHh [gates ·
 * hidden, output].
 */
export abstract class RecurrentCell extends Module {
  readonly inputSize: number;
  readonly hiddenSize: number;
  /** The number of tensors in the state. */
  abstract readonly stateSize: number;
  weightIh: Parameter;
  weightHh: Parameter;
  biasIh: Parameter | null;
  biasHh: Parameter | null;

  constructor(
    inputSize: number,
    hiddenSize: number,
    gates: number,
    options: CellOptions,
    outputSize: number,
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes(`nn.${new.target.name}`, { inputSize, hiddenSize });
    this.inputSize = inputSize;
    this.hiddenSize = hiddenSize;
    const rows = gates * hiddenSize;
    this.weightIh = kaimingUniform([rows, inputSize], hiddenSize);
    this.weightHh = kaimingUniform([rows, outputSize], hiddenSize);
    const bias = () => ((options.bias ?? true) ? kaimingUniform([rows], hiddenSize) : null);
    this.biasIh = bias();
    this.biasHh = bias();
  }

  /** Returns the input's contribution to the gates; accepts many steps together: [steps, batch, input]. */
  project(input: Tensor): Tensor {
    return linear(input, this.weightIh, this.biasIh);
  }

  stepWeights(): StepWeights {
    return { weight: this.weightHh, bias: this.biasHh };
  }

  /** Computes one step from the projected input [batch, gates · hidden]. */
  abstract step(projected: Tensor, state: CellState, weights?: StepWeights): CellState;

  /** Returns a zero state for the batch of a projected input [batch, gates · hidden]. */
  zeroState(projected: Tensor): CellState {
    const like = narrow(projected, -1, 0, this.hiddenSize);
    return this.stateSize === 1 ? [zerosLike(like)] : [zerosLike(like), zerosLike(like)];
  }

  /** Returns the given state, or zeros. Throws ArgumentError if the number of tensors is wrong. */
  stateFrom(initial: readonly Tensor[] | null, projected: Tensor): CellState {
    if (initial === null) return this.zeroState(projected);
    expectState(this.constructor.name, initial, this.stateSize);
    return initial as CellState;
  }

  /** Returns the slice of gate `index`. */
  protected gate(gates: Tensor, index: number): Tensor {
    return narrow(gates, -1, index * this.hiddenSize, this.hiddenSize);
  }
}

/** Returns the hidden vector's contribution to the gates. */
const recurrent = (hidden: Tensor, { weight, bias }: StepWeights): Tensor =>
  linear(hidden, weight, bias);

/** A cell whose state is the hidden vector alone. */
abstract class HiddenStateCell extends RecurrentCell {
  override readonly stateSize = 1;

  override forward(input: Tensor, hidden: Tensor | null = null): Tensor {
    return tidy(() => {
      const projected = this.project(input);
      const state = this.stateFrom(hidden === null ? null : [hidden], projected);
      return this.step(projected, state, this.stepWeights())[0];
    });
  }
}

export function expectState(name: string, state: readonly Tensor[], size: number): void {
  expectTensorList(name, state);
  if (state.length === size) return;
  throw new ArgumentError({
    what: `${name}: not a state`,
    given: `${state.length} tensors`,
    expected: size === 1 ? 'one tensor' : '[hidden, cell]',
    remedy: 'pass what the last call returned, or null for zeros',
  });
}

export const cellKinds: OptionKinds<CellOptions> = { bias: flag };

export interface RNNCellOptions extends CellOptions {
  /** The activation, `'tanh'` by default. */
  readonly nonlinearity?: 'tanh' | 'relu';
}

export const rnnCellKinds: OptionKinds<RNNCellOptions> = {
  ...cellKinds,
  nonlinearity: oneOf('tanh', 'relu'),
};

/** h ← tanh(Wx + b + Uh + c): input [batch, in] → hidden [batch, hidden]. */
export class RNNCell extends HiddenStateCell {
  readonly nonlinearity: 'tanh' | 'relu';

  constructor(inputSize: number, hiddenSize: number, options: RNNCellOptions = {}, ...surplus: []) {
    expectOptions('RNNCell', options, rnnCellKinds);
    super(inputSize, hiddenSize, 1, options, hiddenSize, ...surplus);
    this.nonlinearity = options.nonlinearity ?? 'tanh';
  }

  override step(
    projected: Tensor,
    [hidden]: CellState,
    weights: StepWeights = this.stepWeights(),
  ): CellState {
    const sum = add(projected, recurrent(hidden, weights));
    return [this.nonlinearity === 'relu' ? relu(sum) : tanh(sum)];
  }
}

/** A cell with a memory vector; gates in the order input, forget, candidate, output. */
export abstract class MemoryCell extends RecurrentCell {
  override readonly stateSize = 2;

  /** Returns the new hidden and cell state. */
  override forward(
    input: Tensor,
    state: readonly [hidden: Tensor, cell: Tensor] | null = null,
  ): [hidden: Tensor, cell: Tensor] {
    return tidy(() => {
      const projected = this.project(input);
      const first = this.stateFrom(state, projected);
      const [hidden, cell] = this.step(projected, first, this.stepWeights());
      return [hidden, cell!];
    });
  }

  override step(
    projected: Tensor,
    [hidden, cell]: CellState,
    weights: StepWeights = this.stepWeights(),
  ): CellState {
    const gates = add(projected, recurrent(hidden, weights));
    const kept = mul(sigmoid(this.gate(gates, 1)), cell!);
    const added = mul(sigmoid(this.gate(gates, 0)), tanh(this.gate(gates, 2)));
    const next = add(kept, added);
    return [mul(sigmoid(this.gate(gates, 3)), tanh(next)), next];
  }
}

/** The cell of Hochreiter and Schmidhuber. */
export class LSTMCell extends MemoryCell {
  constructor(inputSize: number, hiddenSize: number, options: CellOptions = {}, ...surplus: []) {
    expectOptions('LSTMCell', options, cellKinds);
    super(inputSize, hiddenSize, 4, options, hiddenSize, ...surplus);
  }
}

/** A cell whose output is projected to a smaller size. */
export class ProjectedLSTMCell extends MemoryCell {
  readonly projSize: number;
  weightHr: Parameter;

  constructor(inputSize: number, hiddenSize: number, options: CellOptions, projSize: number) {
    super(inputSize, hiddenSize, 4, options, projSize);
    this.projSize = projSize;
    this.weightHr = kaimingUniform([projSize, hiddenSize], hiddenSize);
  }

  override zeroState(projected: Tensor): CellState {
    const like = (size: number) => zerosLike(narrow(projected, -1, 0, size));
    return [like(this.projSize), like(this.hiddenSize)];
  }

  override stepWeights(): StepWeights {
    return { ...super.stepWeights(), projection: this.weightHr };
  }

  override step(
    projected: Tensor,
    state: CellState,
    weights: StepWeights = this.stepWeights(),
  ): CellState {
    const [hidden, cell] = super.step(projected, state, weights);
    return [linear(hidden, weights.projection!), cell!];
  }
}

/** The cell of Cho et al.; gates in the order reset, update, candidate. */
export class GRUCell extends HiddenStateCell {
  constructor(inputSize: number, hiddenSize: number, options: CellOptions = {}, ...surplus: []) {
    expectOptions('GRUCell', options, cellKinds);
    super(inputSize, hiddenSize, 3, options, hiddenSize, ...surplus);
  }

  override step(
    projected: Tensor,
    [hidden]: CellState,
    weights: StepWeights = this.stepWeights(),
  ): CellState {
    const own = recurrent(hidden, weights);
    const gateOf = (index: number) =>
      sigmoid(add(this.gate(projected, index), this.gate(own, index)));
    const [reset, update] = [gateOf(0), gateOf(1)];
    const candidate = tanh(add(this.gate(projected, 2), mul(reset, this.gate(own, 2))));
    // (1 − z)·n + z·h
    return [add(candidate, mul(update, sub(hidden, candidate)))];
  }
}
