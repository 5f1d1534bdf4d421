import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { cat, stack } from '../../ops/movement/joining.ts';
import { reshape, select, squeeze, transpose, unsqueeze } from '../../ops/movement/movement.ts';
import { where } from '../../ops/pointwise/pointwise.ts';
import { dropout } from '../../ops/random/dropout.ts';
import { noTensor } from '../../ops/record/expect-tensors.ts';
import { expectSizes } from '../../options/expect-arguments.ts';
import { expectOptions, type OptionKinds } from '../../options/expect-options.ts';
import { isTensor } from '../../options/is-tensor.ts';
import { count, flag, probability } from '../../options/option-kinds.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { computeWeights } from '../module/computed-weights.ts';
import { Module } from '../module/module.ts';
import { throughHooks } from '../module/module-hooks.ts';
import {
  expectPacked,
  isPacked,
  type PackedSequence,
  packedSequence,
} from '../utils/packed-sequence.ts';
import {
  type CellOptions,
  type CellState,
  cellKinds,
  expectState,
  GRUCell,
  LSTMCell,
  type MemoryCell,
  ProjectedLSTMCell,
  type RecurrentCell,
  RNNCell,
  type RNNCellOptions,
  rnnCellKinds,
} from './cells.ts';
import { expectElements, expectPackedState, reordered, runPacked } from './packed-run.ts';
import { stepMasks, stepped } from './padded-steps.ts';

export interface RecurrentOptions extends CellOptions {
  /** The number of stacked layers; 1 by default. */
  readonly numLayers?: number;
  /** Also runs from the last step to the first and concatenates the outputs of both directions. */
  readonly bidirectional?: boolean;
  /** [batch, steps, …] instead of [steps, batch, …]. */
  readonly batchFirst?: boolean;
  /** Fraction of a layer's output zeroed in training before the next layer; 0 by default. */
  readonly dropout?: number;
}

const recurrentKinds: OptionKinds<RecurrentOptions> = {
  ...cellKinds,
  numLayers: count(1),
  bidirectional: flag,
  batchFirst: flag,
  dropout: probability,
};

/** The outputs of all steps and, for each state tensor, the last values: [layers · directions, batch, hidden]. */
interface Run {
  readonly outputs: Tensor;
  readonly states: readonly Tensor[];
}

/** A tensor of a cell, or one that a norm or a parametrization computes it from. */
const ownTensor = /^cells\.(\d+)\.(|parametrizations\.)([a-z]+(?:Ih|Hh|Hr))(.*)$/;

/** Cells applied along a sequence: stacked layers, in one direction or two. */
abstract class Recurrent<Cell extends RecurrentCell> extends Module {
  readonly numLayers: number;
  readonly bidirectional: boolean;
  readonly batchFirst: boolean;
  /** May be changed between calls. */
  dropout: number;
  /** Cells by layer; if bidirectional, forward then backward for each layer. */
  readonly cells: readonly Cell[];

  constructor(
    inputSize: number,
    hiddenSize: number,
    options: RecurrentOptions,
    outputSize: number,
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes(`nn.${new.target.name}`, { inputSize, hiddenSize });
    this.numLayers = options.numLayers ?? 1;
    this.bidirectional = options.bidirectional ?? false;
    this.batchFirst = options.batchFirst ?? false;
    this.dropout = options.dropout ?? 0;
    const directions = this.bidirectional ? 2 : 1;
    this.cells = Array.from({ length: this.numLayers * directions }, (_, i) =>
      this.newCell(i < directions ? inputSize : directions * outputSize, hiddenSize, options),
    );
  }

  /** In a bidirectional network, `cells.3.weightIh` is `weightIhL1Reverse`, and its norm `weightIhL1ReverseG`. */
  override stateName(path: string): string {
    const [, cell, above, tensor, part] = ownTensor.exec(path) ?? [];
    if (!tensor) return path;
    const directions = this.bidirectional ? 2 : 1;
    const layer = Math.floor(Number(cell) / directions);
    return `${above}${tensor}L${layer}${Number(cell) % directions === 1 ? 'Reverse' : ''}${part}`;
  }

  protected abstract newCell(input: number, hidden: number, options: RecurrentOptions): Cell;

  /**
   * `states` are the initial state tensors [layers · directions, batch, hidden]; null for zeros. An unbatched sequence
   * [steps, features] has unbatched states. `lengths` int32 [batch]: steps past a sequence's length leave its state
   * unchanged and output zeros.
   */
  protected run(input: Tensor, states: readonly Tensor[] | null, lengths: Tensor | null): Run {
    if (isTensor(input) && input.rank === 2 && input.shape[1] === this.cells[0]!.inputSize)
      return this.runAlone(input, states, lengths);
    this.check(input);
    if (states !== null) expectState(this.constructor.name, states, this.cells[0]!.stateSize);
    const directions = this.bidirectional ? 2 : 1;
    let sequence = this.batchFirst ? transpose(input, 0, 1) : input;
    const last: CellState[] = [];
    // Read from the argument: a captured loop over a result's size would be unrolled.
    const steps = input.shape[this.batchFirst ? 1 : 0]!;
    const batch = input.shape[this.batchFirst ? 0 : 1]!;
    const masks = lengths && stepMasks(this.constructor.name, lengths, steps, batch);
    for (let layer = 0; layer < this.numLayers; layer++) {
      if (layer > 0 && this.training && this.dropout > 0) {
        sequence = dropout(sequence, this.dropout);
      }
      const parts: Tensor[] = [];
      for (let direction = 0; direction < directions; direction++) {
        const index = layer * directions + direction;
        const first = states && firstOf(states, index);
        const { outputs, state } = this.runCell(
          index,
          sequence,
          steps,
          first,
          masks,
          direction === 1,
        );
        parts.push(outputs);
        last.push(state);
      }
      sequence = parts.length > 1 ? cat(parts, -1) : parts[0]!;
    }
    return {
      outputs: this.batchFirst ? transpose(sequence, 0, 1) : sequence,
      states: last[0]!.map((_, kind) => stack(last.map((state) => state[kind]!))),
    };
  }

  /** `run` for packed sequences, which return packed outputs. */
  protected runPacked(
    input: PackedSequence,
    states: readonly Tensor[] | null,
  ): { readonly outputs: PackedSequence; readonly states: readonly Tensor[] } {
    expectPacked(this.constructor.name, input);
    const { batchSizes, sortedIndices, unsortedIndices } = input;
    const { inputSize, stateSize } = this.cells[0]!;
    expectElements(this.constructor.name, input, inputSize);
    if (states !== null) {
      expectState(this.constructor.name, states, stateSize);
      expectPackedState(this.constructor.name, states, this.cells.length, batchSizes[0]!);
    }
    const first = states && reordered(states, sortedIndices);
    const directions = this.bidirectional ? 2 : 1;
    let data = input.data;
    const last: CellState[] = [];
    for (let layer = 0; layer < this.numLayers; layer++) {
      if (layer > 0 && this.training && this.dropout > 0) data = dropout(data, this.dropout);
      const parts: Tensor[] = [];
      for (let direction = 0; direction < directions; direction++) {
        const index = layer * directions + direction;
        const own = first && firstOf(first, index);
        const found = runPacked(this.cells[index]!, data, batchSizes, own, direction === 1);
        parts.push(found.outputs);
        last.push(found.state);
      }
      data = parts.length > 1 ? cat(parts, -1) : parts[0]!;
    }
    const stacked = last[0]!.map((_, kind) => stack(last.map((state) => state[kind]!)));
    return {
      outputs: packedSequence(data, batchSizes, sortedIndices),
      states: reordered(stacked, unsortedIndices),
    };
  }

  /** Runs one sequence [steps, features] as a batch of one. */
  protected runAlone(input: Tensor, states: readonly Tensor[] | null, lengths: Tensor | null): Run {
    const batch = this.batchFirst ? 0 : 1;
    const first = states?.map((state) => unsqueeze(state, 1)) ?? null;
    const found = this.run(unsqueeze(input, batch), first, lengths && reshape(lengths, [1]));
    return {
      outputs: squeeze(found.outputs, batch),
      states: found.states.map((state) => squeeze(state, 1)),
    };
  }

  protected runCell(
    index: number,
    sequence: Tensor,
    steps: number,
    first: CellState | null,
    masks: Tensor | null,
    backwards: boolean,
  ) {
    const cell = this.cells[index]!;
    // Projects all steps together: one large product instead of many.
    const projected = cell.project(sequence);
    let state = first ?? cell.zeroState(select(projected, 0, 0));
    const weights = cell.stepWeights();
    const outputs: Tensor[] = [];
    for (let i = 0; i < steps; i++) {
      const at = backwards ? steps - 1 - i : i;
      const next = cell.step(select(projected, 0, at), state, weights);
      const mask = masks && select(masks, 0, at);
      outputs.push(mask ? where(mask, next[0], 0) : next[0]);
      state = mask ? stepped(mask, next, state) : next;
    }
    return { outputs: stack(backwards ? reversed(outputs) : outputs), state };
  }

  protected check(input: Tensor): void {
    const { inputSize } = this.cells[0]!;
    if (!isTensor(input)) throw notPadded(this.constructor.name, input);
    if (input.rank === 3 && input.shape[2] === inputSize && input.numel() > 0) return;
    throw new ShapeError({
      what: `${this.constructor.name}: not a batch of sequences`,
      given: formatSpec(input),
      expected: `${this.batchFirst ? '[batch, steps' : '[steps, batch'}, ${inputSize}] or [steps, ${inputSize}], not empty`,
      remedy: 'add the missing dimension with unsqueeze, or set batchFirst',
    });
  }
}

/** The error for packed sequences in the place of padded ones, or anything else. */
function notPadded(owner: string, value: unknown): ArgumentError {
  if (!isPacked(value)) return noTensor(owner, value);
  return new ArgumentError({
    what: `${owner}: packed sequences in the place of a tensor`,
    given: `batches of ${value.batchSizes.join(', ')}`,
    expected: '[steps, batch, features]',
    remedy: 'call forwardPacked() for packed sequences',
  });
}

function reversed(list: readonly Tensor[]): Tensor[] {
  return list.map((_, i) => list[list.length - 1 - i]!);
}

function firstOf(states: readonly Tensor[], index: number): CellState {
  const [hidden, ...others] = states.map((state) => select(state, 0, index));
  return [hidden!, ...others];
}

type RNNOptions = RecurrentOptions & RNNCellOptions;

const rnnKinds: OptionKinds<RNNOptions> = { ...recurrentKinds, ...rnnCellKinds };

/** Cells whose only state is their output. */
abstract class WithHiddenState<Cell extends RecurrentCell> extends Recurrent<Cell> {
  override forward(
    input: Tensor,
    hidden: Tensor | null = null,
    lengths: Tensor | null = null,
  ): [outputs: Tensor, hidden: Tensor] {
    computeWeights(this.cells);
    return tidy(() => {
      const { outputs, states } = this.run(input, hidden === null ? null : [hidden], lengths);
      return [outputs, states[0]!];
    });
  }

  /** `forward` for packed sequences, with packed outputs. */
  forwardPacked(
    input: PackedSequence,
    hidden: Tensor | null = null,
  ): [outputs: PackedSequence, hidden: Tensor] {
    const run = (own: PackedSequence, first: Tensor | null = null): [PackedSequence, Tensor] => {
      computeWeights(this.cells);
      return tidy(() => {
        const { outputs, states } = this.runPacked(own, first && [first]);
        return [outputs, states[0]!];
      });
    };
    return throughHooks(this, run, [input, hidden]);
  }
}

/** Elman's network: [steps, batch, in] → outputs of all steps and the last hidden state. */
export class RNN extends WithHiddenState<RNNCell> {
  constructor(inputSize: number, hiddenSize: number, options: RNNOptions = {}, ...surplus: []) {
    expectOptions('RNN', options, rnnKinds);
    super(inputSize, hiddenSize, options, hiddenSize, ...surplus);
  }

  protected override newCell(input: number, hidden: number, options: RNNOptions): RNNCell {
    const { bias = true, nonlinearity = 'tanh' } = options;
    return new RNNCell(input, hidden, { bias, nonlinearity });
  }
}

/** Gated recurrent units: [steps, batch, in] → outputs of all steps and the last hidden state. */
export class GRU extends WithHiddenState<GRUCell> {
  constructor(
    inputSize: number,
    hiddenSize: number,
    options: RecurrentOptions = {},
    ...surplus: []
  ) {
    expectOptions('GRU', options, recurrentKinds);
    super(inputSize, hiddenSize, options, hiddenSize, ...surplus);
  }

  protected override newCell(input: number, hidden: number, options: RecurrentOptions): GRUCell {
    return new GRUCell(input, hidden, { bias: options.bias ?? true });
  }
}

export interface LSTMOptions extends RecurrentOptions {
  /** The size to which weightHr [projSize, hidden] projects outputs and hidden states; 0 for no projection. */
  readonly projSize?: number;
}

const lstmKinds: OptionKinds<LSTMOptions> = { ...recurrentKinds, projSize: count(0) };

/** Long short-term memory: [steps, batch, in] → outputs of all steps and the last [hidden, cell]. */
export class LSTM extends Recurrent<MemoryCell> {
  constructor(inputSize: number, hiddenSize: number, options: LSTMOptions = {}, ...surplus: []) {
    expectOptions('LSTM', options, lstmKinds);
    const { projSize = 0 } = options;
    if (projSize > 0 && projSize >= hiddenSize) {
      throw new ArgumentError({
        what: 'LSTM: no projection to a smaller size',
        given: `projSize = ${projSize}, hiddenSize = ${hiddenSize}`,
        expected: 'projSize below hiddenSize, or 0',
        remedy: 'leave projSize out for outputs of hiddenSize',
      });
    }
    super(inputSize, hiddenSize, options, projSize || hiddenSize, ...surplus);
  }

  protected override newCell(input: number, hidden: number, options: LSTMOptions): MemoryCell {
    const { bias = true, projSize = 0 } = options;
    if (projSize > 0) return new ProjectedLSTMCell(input, hidden, { bias }, projSize);
    return new LSTMCell(input, hidden, { bias });
  }

  override forward(
    input: Tensor,
    state: readonly [hidden: Tensor, cell: Tensor] | null = null,
    lengths: Tensor | null = null,
  ): [outputs: Tensor, state: [hidden: Tensor, cell: Tensor]] {
    computeWeights(this.cells);
    return tidy(() => {
      const { outputs, states } = this.run(input, state, lengths);
      return [outputs, [states[0]!, states[1]!]];
    });
  }

  /** `forward` for packed sequences, with packed outputs. */
  forwardPacked(
    input: PackedSequence,
    state: readonly [hidden: Tensor, cell: Tensor] | null = null,
  ): [outputs: PackedSequence, state: [hidden: Tensor, cell: Tensor]] {
    type States = [hidden: Tensor, cell: Tensor];
    const run = (own: PackedSequence, first: typeof state = null): [PackedSequence, States] => {
      computeWeights(this.cells);
      return tidy(() => {
        const { outputs, states } = this.runPacked(own, first);
        return [outputs, [states[0]!, states[1]!]];
      });
    };
    return throughHooks(this, run, [input, state]);
  }
}
