import { argumentsOf } from '../functional/arguments-of.ts';
import {
  cosineSimilarity,
  type PairwiseDistanceOptions,
  pairwiseDistance,
} from '../ops/products/distances.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyInteger, anyNumber, flag } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';

/** The cosine of the angle between vectors along `dim`, 1 by default. */
export class CosineSimilarity extends Module {
  readonly dim: number;
  readonly eps: number;

  constructor(
    dim: number | { readonly dim?: number; readonly eps?: number } = 1,
    eps?: number,
    ...surplus: []
  ) {
    super(...surplus);
    const kinds = { dim: anyInteger, eps: anyNumber };
    const settings = argumentsOf('CosineSimilarity', kinds, dim, eps);
    this.dim = settings.dim ?? 1;
    this.eps = settings.eps ?? 1e-8;
  }

  override forward(first: Tensor, second: Tensor): Tensor {
    return cosineSimilarity(first, second, this.dim, this.eps);
  }
}

const distanceKinds: OptionKinds<PairwiseDistanceOptions> = {
  p: anyNumber,
  eps: anyNumber,
  keepDim: flag,
};

/** The p-norm of the difference, along the last dimension. */
export class PairwiseDistance extends Module {
  readonly options: PairwiseDistanceOptions;

  constructor(options: PairwiseDistanceOptions = {}, ...surplus: []) {
    super(...surplus);
    expectOptions('PairwiseDistance', options, distanceKinds);
    this.options = options;
  }

  override forward(first: Tensor, second: Tensor): Tensor {
    return pairwiseDistance(first, second, this.options);
  }
}
