import { add, minimum, sub } from '../ops/arithmetic/arithmetic.ts';
import { cast } from '../ops/core/cast.ts';
import { lossKinds } from '../ops/loss/loss-kinds.ts';
import { clampMin } from '../ops/pointwise/combining.ts';
import { pairwiseDistance } from '../ops/products/distances.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { mean, sum } from '../ops/reduce/reduce.ts';
import type { LossOptions } from '../ops/reduce/reduction-options.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { callback, flag, orNull, positive } from '../options/option-kinds.ts';
import type { DType } from '../spec/dtype.ts';
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

const isFloat = (dtype: DType): boolean => dtype.includes('float');
const isHalf = (dtype: DType): boolean => dtype === 'float16' || dtype === 'bfloat16';

/** Half precision is computed in float32, so that only the result is rounded. */
const widened = (x: Tensor): Tensor => (isHalf(x.dtype) ? cast(x, 'float32') : x);

/** max(0, d(anchor, positive) − d(anchor, negative) + margin), for any distance d. */
export function tripletMarginWithDistanceLoss(
  anchor: Tensor,
  positive: Tensor,
  negative: Tensor,
  options: TripletDistanceOptions = {},
): Tensor {
  expectTensors('tripletMarginWithDistanceLoss', anchor, positive, negative);
  expectOptions('tripletMarginWithDistanceLoss', options, distanceKinds);
  const { margin = 1, swap = false, reduction = 'mean', distanceFunction } = options;
  const distance = distanceFunction ?? pairwiseDistance;
  const loss = (): Tensor => {
    // A distance of the caller's gets what the caller passed.
    const inputs = [anchor, positive, negative] as const;
    const [a, p, n] = distanceFunction ? inputs : inputs.map(widened);
    const near = distance(a!, p!);
    const direct = distance(a!, n!);
    const other = swap ? distance(p!, n!) : direct;
    const far = swap ? minimum(widened(direct), widened(other)) : widened(direct);
    const losses = clampMin(add(sub(widened(near), far), margin), 0);
    const reduced =
      reduction === 'none' ? losses : reduction === 'sum' ? sum(losses) : mean(losses);
    const parts = distanceFunction ? [near, direct, other] : inputs;
    const half = parts.map(({ dtype }) => dtype).find(isHalf);
    const isRounded = parts.every(({ dtype }) => dtype === half || !isFloat(dtype));
    return half && isRounded ? cast(reduced, half) : reduced;
  };
  // A function of the caller's may keep tensors, and its errors are its own.
  return distanceFunction ? loss() : calledAs('tripletMarginWithDistanceLoss', loss);
}
