/** Margin losses on signs, angles and order: beyond the margin, the loss is zero. */

import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { oneHot } from '../advanced-indexing/embedding.ts';
import { add, minimum, mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { gather } from '../indexing/gather.ts';
import { indexSelect } from '../indexing/indexing.ts';
import { broadcastTensors } from '../movement/at-least.ts';
import { reshape, unsqueeze } from '../movement/movement.ts';
import { equals, negated } from '../numbers/number-arithmetic.ts';
import { clampMin } from '../pointwise/combining.ts';
import { dropWhere, eq, keepWhere, ne } from '../pointwise/comparison.ts';
import { pow, sqrt } from '../pointwise/powers.ts';
import { logSigmoid } from '../pointwise/smooth-activations.ts';
import { pairwiseDistance } from '../products/distances.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { mean, sum } from '../reduce/reduce.ts';
import { type LossOptions, reduced } from '../reduce/reduction-options.ts';
import {
  lossKinds,
  marginKinds,
  multiMarginKinds,
  tripletKinds,
  weightKinds,
} from './loss-kinds.ts';
import { expectTargetOf, lossOf } from './loss-of.ts';
import { aboveMargin } from './regression-losses.ts';

export interface MarginOptions extends LossOptions {
  /** The distance from which on a pair costs nothing. */
  readonly margin?: number;
}

/** ln(1 + e^(−target · x)), target ±1. */
export function softMarginLoss(x: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  return naming('softMarginLoss', () => {
    return lossOf('softMarginLoss', lossKinds, [x, target], options, (x, target) => {
      const losses = neg(logSigmoid(mul(x, target)));
      if (!sameShape(losses.shape, x.shape)) expectTargetOf('softMarginLoss', x, target);
      return losses;
    });
  });
}

/** max(0, −target · (a − b) + margin): with target 1, a should be larger. */
export function marginRankingLoss(
  a: Tensor,
  b: Tensor,
  target: Tensor,
  options: MarginOptions = {},
): Tensor {
  return naming('marginRankingLoss', () => {
    return lossOf('marginRankingLoss', marginKinds, [a, b, target], options, (a, b, target) => {
      const { margin = 0 } = options;
      return aboveMargin(mul(target, sub(a, b)), margin);
    });
  });
}

/** x for target 1, max(0, margin − x) for target −1. */
export function hingeEmbeddingLoss(x: Tensor, target: Tensor, options: MarginOptions = {}): Tensor {
  return naming('hingeEmbeddingLoss', () => {
    return lossOf('hingeEmbeddingLoss', marginKinds, [x, target], options, (x, target) => {
      const { margin = 1 } = options;
      const [own, sign] = broadcastTensors(x, target) as [Tensor, Tensor];
      const apart = keepWhere(aboveMargin(own, margin), ne(sign, 1));
      const together = keepWhere(own, ne(sign, -1));
      return add(apart, together);
    });
  });
}

/** 1 − cosine for target 1, max(0, cosine − margin) for target −1; vectors along the last dimension. */
export function cosineEmbeddingLoss(
  a: Tensor,
  b: Tensor,
  target: Tensor,
  options: MarginOptions = {},
): Tensor {
  return naming('cosineEmbeddingLoss', () => {
    return lossOf('cosineEmbeddingLoss', marginKinds, [a, b, target], options, (a, b, target) => {
      const { margin = 0 } = options;
      const product = (x: Tensor, y: Tensor) => sum(mul(x, y), -1);
      const lengths = mul(add(product(a, a), 1e-12), add(product(b, b), 1e-12));
      const angles = div(product(a, b), sqrt(lengths));
      const [cosine, sign] = broadcastTensors(angles, target) as [Tensor, Tensor];
      const alike = keepWhere(add(neg(cosine), 1), eq(sign, 1));
      const different = keepWhere(clampMin(add(cosine, negated(margin)), 0), eq(sign, -1));
      return add(alike, different);
    });
  });
}

export interface TripletOptions extends MarginOptions {
  readonly p?: number;
  readonly eps?: number;
  /** Uses the distance between positive and negative if it is smaller. */
  readonly swap?: boolean;
}

/** max(0, distance to the positive − distance to the negative + margin); vectors along the last dimension. */
export function tripletMarginLoss(
  anchor: Tensor,
  positive: Tensor,
  negative: Tensor,
  options: TripletOptions = {},
): Tensor {
  return naming('tripletMarginLoss', () => {
    const operands = [anchor, positive, negative] as const;
    return lossOf('tripletMarginLoss', tripletKinds, operands, options, (anchor, ...others) => {
      const { margin = 1, p = 2, eps = 1e-6, swap = false } = options;
      const [positive, negative] = others;
      const distance = (x: Tensor, y: Tensor) => pairwiseDistance(x, y, { p, eps });
      const near = distance(anchor, positive);
      const direct = distance(anchor, negative);
      const far = swap ? minimum(direct, distance(positive, negative)) : direct;
      return clampMin(add(sub(near, far), margin), 0);
    });
  });
}

export interface MultiMarginOptions extends MarginOptions {
  /** The exponent, 1 or 2. */
  readonly p?: number;
  /** The factor of each class. */
  readonly weight?: Tensor | null;
}

/** The sum over the other classes of max(0, margin − score of the class + score)^p / c; scores [n, c] or [c]. */
export function multiMarginLoss(
  x: Tensor,
  target: Tensor,
  options: MultiMarginOptions = {},
): Tensor {
  return naming('multiMarginLoss', () => {
    expectTensors('multiMarginLoss', x, target);
    expectOptions('multiMarginLoss', options, multiMarginKinds);
    const { p = 1, margin = 1, weight = null, ...rest } = options;
    if (anyHalf(x, weight))
      return roundedOnce([x, weight], (converted, w) =>
        multiMarginLoss(converted, target, { p, margin, weight: w, ...rest }),
      );
    return tidy(() => {
      const rows = x.rank < 2 ? reshape(x, [1, x.numel()]) : x;
      const labels = reshape(target, [rows.shape[0]!]);
      const classes = rows.shape[1]!;
      const targetScores = gather(rows, 1, unsqueeze(labels, 1));
      const beyond = clampMin(add(sub(rows, targetScores), margin), 0);
      const powered = equals(p, 1) ? beyond : pow(beyond, p);
      const scaled = weight ? mul(powered, unsqueeze(indexSelect(weight, 0, labels), 1)) : powered;
      const others = dropWhere(scaled, ne(oneHot(labels, classes), 0));
      const losses = mul(sum(others, 1), 1 / classes);
      return reduced('multiMarginLoss', target.rank === 0 ? reshape(losses, []) : losses, rest);
    });
  });
}

export interface WeightOptions extends LossOptions {
  /** The factor of each class. */
  readonly weight?: Tensor | null;
}

/** Independent binary classification per class, target 0 or 1; the mean over the last dimension. */
export function multilabelSoftMarginLoss(
  x: Tensor,
  target: Tensor,
  options: WeightOptions = {},
): Tensor {
  return naming('multilabelSoftMarginLoss', () => {
    expectTensors('multilabelSoftMarginLoss', x, target);
    expectOptions('multilabelSoftMarginLoss', options, weightKinds);
    const { weight = null, ...others } = options;
    if (anyHalf(x, target, weight))
      return roundedOnce([x, target, weight], (a, b, w) =>
        multilabelSoftMarginLoss(a, b, { weight: w, ...others }),
      );
    return tidy(() => {
      const absent = mul(add(neg(target), 1), logSigmoid(neg(x)));
      const losses = neg(add(mul(target, logSigmoid(x)), absent));
      const scaled = weight ? mul(losses, weight) : losses;
      return reduced('multilabelSoftMarginLoss', mean(scaled, -1), others);
    });
  });
}
