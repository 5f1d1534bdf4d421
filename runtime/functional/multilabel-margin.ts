import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { oneHot } from '../ops/advanced-indexing/embedding.ts';
import { add, mul, sub } from '../ops/arithmetic/arithmetic.ts';
import { logicalOr } from '../ops/arithmetic/logic.ts';
import { gather } from '../ops/indexing/gather.ts';
import { lossKinds } from '../ops/loss/loss-kinds.ts';
import { reshape, unsqueeze } from '../ops/movement/movement.ts';
import { clampMin } from '../ops/pointwise/combining.ts';
import { eq, ge, maskedFill } from '../ops/pointwise/comparison.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { amax } from '../ops/reduce/extremes.ts';
import { mean, sum } from '../ops/reduce/reduce.ts';
import type { LossOptions } from '../ops/reduce/reduction-options.ts';
import { cumprod } from '../ops/reduce/scans.ts';
import { expectOptions } from '../options/expect-options.ts';
import { sameShape } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

/**
 * Requires every class of the target to score higher than every other class by 1: scores [n, c] or [c], target int32 of
 * the same shape, listing classes up to the first negative number.
 */
export function multilabelMarginLoss(x: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  expectTensors('multilabelMarginLoss', x, target);
  expectOptions('multilabelMarginLoss', options, lossKinds);
  if (x.rank > 2 || !sameShape(x.shape, target.shape)) {
    throw new ShapeError({
      what: "multilabelMarginLoss: scores and target don't fit",
      given: `${formatSpec(x)} and ${formatSpec(target)}`,
      expected: 'scores [n, classes] or [classes], and as many numbers of classes',
      remedy: 'fill the target up with −1',
    });
  }
  return calledAs('multilabelMarginLoss', () => {
    const scores = x.rank < 2 ? reshape(x, [1, x.numel()]) : x;
    const labels = reshape(target, scores.shape);
    const classes = scores.shape[1]!;
    const listed = cumprod(ge(labels, 0), 1);
    const places = mul(labels, listed);
    const isLabel = amax(mul(oneHot(places, classes), unsqueeze(listed, -1)), 1);
    const targetScores = unsqueeze(gather(scores, 1, places), 2);
    const beyond = clampMin(add(sub(unsqueeze(scores, 1), targetScores), 1), 0);
    const left = logicalOr(unsqueeze(isLabel, 1), unsqueeze(eq(listed, 0), 2));
    const losses = mul(sum(maskedFill(beyond, left, 0), [1, 2]), 1 / classes);
    const { reduction = 'mean' } = options;
    if (reduction === 'none') return x.rank < 2 ? reshape(losses, []) : losses;
    return reduction === 'sum' ? sum(losses) : mean(losses);
  });
}
