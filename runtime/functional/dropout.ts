/** Channel dropout with probability `p` while `training`. A single sample may omit the batch dimension. */

import { squeeze, unsqueeze } from '../ops/movement/movement.ts';
import { featureDropout } from '../ops/random/dropout.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

function channelDropout(x: Tensor, p: number, training: boolean, rank: number): Tensor {
  const name = `dropout${rank - 1}d`;
  expectTensors(name, x);
  return calledAs(name, () => {
    if (x.rank !== rank) return featureDropout(x, p, training);
    return squeeze(featureDropout(unsqueeze(x, 0), p, training), 0);
  });
}

/** Zeroes entire channels of [n, c, l] or [c, l]. */
export function dropout1d(x: Tensor, p = 0.5, training = true): Tensor {
  return channelDropout(x, p, training, 2);
}

/** Zeroes entire channels of [n, c, h, w] or [c, h, w]. */
export function dropout2d(x: Tensor, p = 0.5, training = true): Tensor {
  return channelDropout(x, p, training, 3);
}

/** Zeroes entire channels of [n, c, d, h, w] or [c, d, h, w]. */
export function dropout3d(x: Tensor, p = 0.5, training = true): Tensor {
  return channelDropout(x, p, training, 4);
}
