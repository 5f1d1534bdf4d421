/** Recurrent cells along packed sequences, whose batch shrinks where sequences end. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { indexSelect } from '../../ops/indexing/indexing.ts';
import { cat } from '../../ops/movement/joining.ts';
import { narrow } from '../../ops/movement/movement.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { indicesOn, type PackedSequence } from '../utils/packed-sequence.ts';
import type { CellState, RecurrentCell } from './cells.ts';

/** Throws ShapeError unless the elements are vectors of the size that the cells take. */
export function expectElements(owner: string, { data }: PackedSequence, inputSize: number): void {
  if (data.rank === 2 && data.shape[1] === inputSize) return;
  throw new ShapeError({
    what: `${owner}: not packed vectors`,
    given: formatSpec(data),
    expected: `elements [elements, ${inputSize}]`,
    remedy: 'pack sequences [length, batch, features]',
  });
}

/** Throws ShapeError unless the states are those of all layers and directions, for the whole batch. */
export function expectPackedState(
  owner: string,
  states: readonly Tensor[],
  layers: number,
  batch: number,
): void {
  const fits = ({ shape }: Tensor) =>
    shape.length === 3 && shape[0] === layers && shape[1] === batch;
  if (states.every(fits)) return;
  throw new ShapeError({
    what: `${owner}: a state of another size`,
    given: states.map(formatSpec).join(', '),
    expected: `[${layers}, ${batch}, features]: one for each layer and direction, and each sequence`,
    remedy: 'pass what the last call returned, or null for zeros',
  });
}

/** Returns states [layers, batch, …] with the batch in another order; in the same one if it is null. */
export const reordered = (states: readonly Tensor[], order: readonly number[] | null): Tensor[] =>
  states.map((state) => (order ? indexSelect(state, 1, indicesOn(state, order)) : state));

const rowsOf = (state: CellState, start: number, count: number): CellState => {
  const [hidden, ...others] = state.map((item) => narrow(item, 0, start, count));
  return [hidden!, ...others];
};

const joined = (states: readonly CellState[]): CellState => {
  const [hidden, ...others] = states[0]!.map((_, kind) => cat(states.map((item) => item[kind]!)));
  return [hidden!, ...others];
};

/** Runs a cell along the elements; returns its outputs, packed in the same way, and the last state of each sequence. */
export function runPacked(
  cell: RecurrentCell,
  data: Tensor,
  batchSizes: readonly number[],
  first: CellState | null,
  backwards: boolean,
): { readonly outputs: Tensor; readonly state: CellState } {
  const projected = cell.project(data);
  const initial = first ?? cell.zeroState(narrow(projected, 0, 0, batchSizes[0]!));
  const steps = batchSizes.length;
  const outputs: Tensor[] = [];
  /** The last states of sequences that have ended, the shortest last. */
  const ended: CellState[] = [];
  let at = backwards ? data.shape[0]! : 0;
  let rows = backwards ? 0 : batchSizes[0]!;
  const weights = cell.stepWeights();
  let state = rowsOf(initial, 0, rows);
  for (let i = 0; i < steps; i++) {
    const size = batchSizes[backwards ? steps - 1 - i : i]!;
    if (size < rows) {
      ended.unshift(rowsOf(state, size, rows - size));
      state = rowsOf(state, 0, size);
    } else if (size > rows) {
      // A sequence that ends here begins here, backwards.
      const begun = rowsOf(initial, rows, size - rows);
      state = rows === 0 ? begun : joined([state, begun]);
    }
    rows = size;
    if (backwards) at -= size;
    state = cell.step(narrow(projected, 0, at, size), state, weights);
    if (backwards) outputs.unshift(state[0]);
    else {
      outputs.push(state[0]);
      at += size;
    }
  }
  return { outputs: cat(outputs), state: joined([state, ...ended]) };
}
