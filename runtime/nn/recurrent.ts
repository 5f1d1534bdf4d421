import { ShapeError } from '../errors/errors.ts';
import { cat, stack } from '../ops/joining.ts';
import { select, transpose } from '../ops/movement.ts';
import { tidy } from '../tensor/lifetime.ts';
import { formatSpec } from '../tensor/meta.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import {
  type CellOptions,
  type CellState,
  GRUCell,
  LSTMCell,
  type RecurrentCell,
  RNNCell,
  type RNNCellOptions,
} from './recurrent-cells.ts';

export interface RecurrentOptions extends CellOptions {
  /** One when left out; each reads what the one below gives. */
  readonly numLayers?: number;
  /** Also from the last step to the first; outputs lie side by side. */
  readonly bidirectional?: boolean;
  /** [batch, steps, …] instead of [steps, batch, …]. */
  readonly batchFirst?: boolean;
}

/** Outputs of all steps, and of each kind of state the last one: [layers · directions, batch, hidden]. */
interface Run {
  readonly outputs: Tensor;
  readonly states: readonly Tensor[];
}

/** Cells along a sequence: layers on top of each other, in one direction or two. */
abstract class Recurrent<Cell extends RecurrentCell> extends Module {
  readonly numLayers: number;
  readonly bidirectional: boolean;
  readonly batchFirst: boolean;
  /** Layer by layer; in two directions, forward and then backward of each. */
  readonly cells: readonly Cell[];

  constructor(inputSize: number, hiddenSize: number, options: RecurrentOptions) {
    super();
    this.numLayers = options.numLayers ?? 1;
    this.bidirectional = options.bidirectional ?? false;
    this.batchFirst = options.batchFirst ?? false;
    const directions = this.bidirectional ? 2 : 1;
    this.cells = Array.from({ length: this.numLayers * directions }, (_, i) =>
      this.newCell(i < directions ? inputSize : directions * hiddenSize, hiddenSize, options),
    );
  }

  protected abstract newCell(input: number, hidden: number, options: RecurrentOptions): Cell;

  /** `states`: of each kind the first, [layers · directions, batch, hidden]; zeros when null. */
  protected run(input: Tensor, states: readonly Tensor[] | null): Run {
    this.#check(input);
    const directions = this.bidirectional ? 2 : 1;
    let sequence = this.batchFirst ? transpose(input, 0, 1) : input;
    const last: CellState[] = [];
    for (let layer = 0; layer < this.numLayers; layer++) {
      const parts: Tensor[] = [];
      for (let direction = 0; direction < directions; direction++) {
        const index = layer * directions + direction;
        const first = states && firstOf(states, index);
        const { outputs, state } = this.#runCell(index, sequence, first, direction === 1);
        parts.push(outputs);
        last.push(state);
      }
      sequence = parts.length > 1 ? cat(parts, -1) : parts[0]!;
    }
    const kinds = Array.from({ length: this.cells[0]!.stateSize }, (_, kind) => kind);
    return {
      outputs: this.batchFirst ? transpose(sequence, 0, 1) : sequence,
      states: kinds.map((kind) => stack(last.map((state) => state[kind]!))),
    };
  }

  #runCell(index: number, sequence: Tensor, first: CellState | null, backwards: boolean) {
    const cell = this.cells[index]!;
    // All steps at once: one large product instead of many.
    const projected = cell.project(sequence);
    const [steps, batch] = sequence.shape as [number, number];
    let state = first ?? cell.zeroState(batch);
    const outputs = new Array<Tensor>(steps);
    for (let i = 0; i < steps; i++) {
      const at = backwards ? steps - 1 - i : i;
      state = cell.step(select(projected, 0, at), state);
      outputs[at] = state[0];
    }
    return { outputs: stack(outputs), state };
  }

  #check(input: Tensor): void {
    const { inputSize } = this.cells[0]!;
    if (input.rank === 3 && input.shape[2] === inputSize && input.size > 0) return;
    throw new ShapeError({
      what: `${this.constructor.name}: not a batch of sequences`,
      given: formatSpec(input),
      expected: `${this.batchFirst ? '[batch, steps' : '[steps, batch'}, ${inputSize}], not empty`,
      remedy: 'add the missing dimension with unsqueeze, or set batchFirst',
    });
  }
}

function firstOf(states: readonly Tensor[], index: number): CellState {
  const [hidden, ...others] = states.map((state) => select(state, 0, index));
  return [hidden!, ...others];
}

type RNNOptions = RecurrentOptions & RNNCellOptions;

/** Elman's network: [steps, batch, in] → outputs of all steps, and the last hidden state. */
export class RNN extends Recurrent<RNNCell> {
  constructor(inputSize: number, hiddenSize: number, options: RNNOptions = {}) {
    super(inputSize, hiddenSize, options);
  }

  protected override newCell(input: number, hidden: number, options: RNNOptions): RNNCell {
    return new RNNCell(input, hidden, options);
  }

  override forward(input: Tensor, hidden: Tensor | null = null): [outputs: Tensor, hidden: Tensor] {
    return tidy(() => {
      const { outputs, states } = this.run(input, hidden && [hidden]);
      return [outputs, states[0]!];
    });
  }
}

/** Gated recurrent units: [steps, batch, in] → outputs of all steps, and the last hidden state. */
export class GRU extends Recurrent<GRUCell> {
  constructor(inputSize: number, hiddenSize: number, options: RecurrentOptions = {}) {
    super(inputSize, hiddenSize, options);
  }

  protected override newCell(input: number, hidden: number, options: RecurrentOptions): GRUCell {
    return new GRUCell(input, hidden, options);
  }

  override forward(input: Tensor, hidden: Tensor | null = null): [outputs: Tensor, hidden: Tensor] {
    return tidy(() => {
      const { outputs, states } = this.run(input, hidden && [hidden]);
      return [outputs, states[0]!];
    });
  }
}

/** Long short-term memory: [steps, batch, in] → outputs of all steps, and the last [hidden, cell]. */
export class LSTM extends Recurrent<LSTMCell> {
  constructor(inputSize: number, hiddenSize: number, options: RecurrentOptions = {}) {
    super(inputSize, hiddenSize, options);
  }

  protected override newCell(input: number, hidden: number, options: RecurrentOptions): LSTMCell {
    return new LSTMCell(input, hidden, options);
  }

  override forward(
    input: Tensor,
    state: readonly [hidden: Tensor, cell: Tensor] | null = null,
  ): [outputs: Tensor, state: [hidden: Tensor, cell: Tensor]] {
    return tidy(() => {
      const { outputs, states } = this.run(input, state);
      return [outputs, [states[0]!, states[1]!]];
    });
  }
}
