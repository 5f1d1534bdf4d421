/** Loss modules: each calls the function of the same name. The default reduction is the mean of all elements. */

import { multilabelMarginLoss } from '../functional/multilabel-margin.ts';
import {
  type TripletDistanceOptions,
  tripletMarginWithDistanceLoss,
} from '../functional/triplet-distance.ts';
import {
  type CrossEntropyOptions,
  crossEntropy,
  mseLoss,
  type NllOptions,
  nllLoss,
} from '../ops/loss/class-losses.ts';
import {
  cosineEmbeddingLoss,
  hingeEmbeddingLoss,
  type MarginOptions,
  type MultiMarginOptions,
  marginRankingLoss,
  multilabelSoftMarginLoss,
  multiMarginLoss,
  softMarginLoss,
  type TripletOptions,
  tripletMarginLoss,
  type WeightOptions,
} from '../ops/loss/margin-losses.ts';
import {
  type BinaryOptions,
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  type KlDivOptions,
  klDiv,
  type LogitOptions,
} from '../ops/loss/probability-losses.ts';
import {
  type GaussianNllOptions,
  gaussianNllLoss,
  huberLoss,
  l1Loss,
  type PoissonNllOptions,
  poissonNllLoss,
  smoothL1Loss,
} from '../ops/loss/regression-losses.ts';
import type { LossOptions } from '../ops/reduce/reduction-options.ts';
import { expectArguments } from '../options/expect-options.ts';
import { anObject } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';
import { buffer } from './module/parameter.ts';

/** A loss with options. */
abstract class Loss<O extends object = LossOptions> extends Module {
  readonly options: O;

  constructor(options: O = {} as O, ...surplus: []) {
    super(...surplus);
    expectArguments(new.target.name, { options }, { options: anObject });
    this.options = options;
  }
}

/** A loss with a weight per class or element, which becomes a buffer of the module. */
abstract class WeightedLoss<O extends { readonly weight?: Tensor | null }> extends Loss<O> {
  weight: Tensor | null;

  constructor(options: O = {} as O, ...surplus: []) {
    super(options, ...surplus);
    this.weight = options.weight ? buffer(options.weight) : null;
  }

  /** The options with the weight's current tensor, which `to` may have moved. */
  protected get current(): O {
    return { ...this.options, weight: this.weight };
  }
}

/** Squared differences. */
export class MSELoss extends Loss {
  override forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target, this.options);
  }
}

/** Absolute differences. */
export class L1Loss extends Loss {
  override forward(input: Tensor, target: Tensor): Tensor {
    return l1Loss(input, target, this.options);
  }
}

/** Quadratic below `beta` (1 by default), linear above. */
export class SmoothL1Loss extends Loss<LossOptions & { readonly beta?: number }> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, this.options);
  }
}

/** Quadratic below `delta` (1 by default), linear with slope `delta` above. */
export class HuberLoss extends Loss<LossOptions & { readonly delta?: number }> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.options);
  }
}

/** Cross entropy of raw scores [n, classes, …] with class indices int32 [n, …] or probabilities like the scores. */
export class CrossEntropyLoss extends WeightedLoss<CrossEntropyOptions> {
  override forward(scores: Tensor, target: Tensor): Tensor {
    return crossEntropy(scores, target, this.current);
  }
}

/** −logProbs[i, target[i]]; logProbs [n, classes, …], target int32 [n, …]. */
export class NLLLoss extends WeightedLoss<NllOptions> {
  override forward(logProbs: Tensor, target: Tensor): Tensor {
    return nllLoss(logProbs, target, this.current);
  }
}

/** Binary cross entropy of probabilities with targets between 0 and 1. */
export class BCELoss extends WeightedLoss<BinaryOptions> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return binaryCrossEntropy(input, target, this.current);
  }
}

/** Binary cross entropy of raw scores with targets between 0 and 1. */
export class BCEWithLogitsLoss extends WeightedLoss<LogitOptions> {
  posWeight: Tensor | null;

  constructor(options: LogitOptions = {}, ...surplus: []) {
    super(options, ...surplus);
    this.posWeight = options.posWeight ? buffer(options.posWeight) : null;
  }

  override forward(input: Tensor, target: Tensor): Tensor {
    const { posWeight } = this;
    return binaryCrossEntropyWithLogits(input, target, { ...this.current, posWeight });
  }
}

/** Kullback-Leibler divergence of log-probabilities from probabilities. */
export class KLDivLoss extends Loss<KlDivOptions> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return klDiv(input, target, this.options);
  }
}

/** Negative log likelihood of Poisson-distributed targets. */
export class PoissonNLLLoss extends Loss<PoissonNllOptions> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return poissonNllLoss(input, target, this.options);
  }
}

/** Negative log likelihood of normally distributed targets; the variance is an input. */
export class GaussianNLLLoss extends Loss<GaussianNllOptions> {
  override forward(input: Tensor, target: Tensor, variance: Tensor): Tensor {
    return gaussianNllLoss(input, target, variance, this.options);
  }
}

/** ln(1 + e^(−target · x)), targets 1 or −1. */
export class SoftMarginLoss extends Loss {
  override forward(input: Tensor, target: Tensor): Tensor {
    return softMarginLoss(input, target, this.options);
  }
}

/** x for target 1, max(0, margin − x) for target −1; the margin is 1 by default. */
export class HingeEmbeddingLoss extends Loss<MarginOptions> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return hingeEmbeddingLoss(input, target, this.options);
  }
}

/** 1 − cosine for target 1, max(0, cosine − margin) for target −1. */
export class CosineEmbeddingLoss extends Loss<MarginOptions> {
  override forward(first: Tensor, second: Tensor, target: Tensor): Tensor {
    return cosineEmbeddingLoss(first, second, target, this.options);
  }
}

/** max(0, −target · (first − second) + margin). */
export class MarginRankingLoss extends Loss<MarginOptions> {
  override forward(first: Tensor, second: Tensor, target: Tensor): Tensor {
    return marginRankingLoss(first, second, target, this.options);
  }
}

/** Requires the positive to be closer to the anchor than the negative is, by the margin. */
export class TripletMarginLoss extends Loss<TripletOptions> {
  override forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    return tripletMarginLoss(anchor, positive, negative, this.options);
  }
}

/**
 * `TripletMarginLoss` with any distance, such as `(x, y) => module.forward(x, y)`; parameters of that module are none of
 * the loss's.
 */
export class TripletMarginWithDistanceLoss extends Loss<TripletDistanceOptions> {
  override forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    return tripletMarginWithDistanceLoss(anchor, positive, negative, this.options);
  }
}

/** Requires the right class to score higher than every other class, by the margin. */
export class MultiMarginLoss extends WeightedLoss<MultiMarginOptions> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return multiMarginLoss(input, target, this.current);
  }
}

/** Independent binary classification per class, from raw scores. */
export class MultiLabelSoftMarginLoss extends WeightedLoss<WeightOptions> {
  override forward(input: Tensor, target: Tensor): Tensor {
    return multilabelSoftMarginLoss(input, target, this.current);
  }
}

/** Requires the classes of the target to score higher than all others, by 1. */
export class MultiLabelMarginLoss extends Loss {
  override forward(input: Tensor, target: Tensor): Tensor {
    return multilabelMarginLoss(input, target, this.options);
  }
}
