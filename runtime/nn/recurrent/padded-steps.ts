/** Steps of padded sequences, some of which have ended. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ShapeError } from '../../errors/errors.ts';
import { reshape } from '../../ops/movement/movement.ts';
import { arange } from '../../ops/movement/ranges.ts';
import { gt, where } from '../../ops/pointwise/pointwise.ts';
import { expectTensors } from '../../ops/record/expect-tensors.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { CellState } from './cells.ts';

/** Returns for each step which sequences include it: bool [steps, batch, 1]. Throws ShapeError for other lengths. */
export function stepMasks(owner: string, lengths: Tensor, steps: number, batch: number): Tensor {
  expectTensors(owner, lengths);
  const { device, rank, shape } = lengths;
  if (rank !== 1 || (shape[0] !== batch && shape[0] !== 1)) {
    throw new ShapeError({
      what: `${owner}: lengths of another shape than the batch`,
      given: formatSpec(lengths),
      expected: `[${batch}]`,
      remedy: 'pass one length per sequence',
    });
  }
  const positions = arange(steps, { dtype: 'int32', device });
  return gt(reshape(lengths, [1, -1, 1]), reshape(positions, [steps, 1, 1]));
}

/** Selects the next state where the mask is true, the previous state elsewhere. */
export function stepped(mask: Tensor, next: CellState, before: CellState): CellState {
  const [hidden, ...others] = next.map((each, i) => where(mask, each, before[i]!));
  return [hidden!, ...others];
}
