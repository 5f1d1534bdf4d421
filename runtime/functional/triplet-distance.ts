import { add, minimum, sub } from '../ops/arithmetic/arithmetic.ts';
import { lossKinds } from '../ops/loss/loss-kinds.ts';
import { clampMin } from '../ops/pointwise/combining.ts';
import { pairwiseDistance } from '../ops/products/distances.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { mean, sum } from '../ops/reduce/reduce.ts';
import type { LossOptions } from '../ops/reduce/reduction-options.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { callback, flag, orNull, positive } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

export interface TripletDistanceOptions extends LossOptions {
  /** Returns how far the samples of two batches are apart; `pairwiseDistance` by default. */
  readonly distanceFunction?: ((x: Tensor, y: Tensor) => Tensor) | null;
  /** By how much closer the positive must be; 1 by default. */
  readonly margin?: number;
  /** Whether the negative must be as far from the positive too. */
  readonly swap?: boolean;
}

const distanceKinds: OptionKinds<TripletDistanceOptions> = {
  ...lossKinds,
  distanceFunction: orNull(callback),
  margin: positive,
  swap: flag,
};

/** max(0, d(anchor, positive) − d(anchor, negative) + margin), for any distance d. */
export function tripletMarginWithDistanceLoss(
  anchor: Tensor,
  positive: Tensor,
  negative: Tensor,
  options: TripletDistanceOptions = {},
): Tensor {
  expectTensors('tripletMarginWithDistanceLoss', anchor, positive, negative);
  expectOptions('tripletMarginWithDistanceLoss', options, distanceKinds);
  const { margin = 1, swap = false, reduction = 'mean' } = options;
  const distance = options.distanceFunction ?? pairwiseDistance;
  const loss = (): Tensor => {
    const near = distance(anchor, positive);
    const direct = distance(anchor, negative);
    const far = swap ? minimum(direct, distance(positive, negative)) : direct;
    const losses = clampMin(add(sub(near, far), margin), 0);
    if (reduction === 'none') return losses;
    return reduction === 'sum' ? sum(losses) : mean(losses);
  };
  // A function of the caller's may keep tensors, and its errors are its own.
  return options.distanceFunction ? loss() : calledAs('tripletMarginWithDistanceLoss', loss);
}
