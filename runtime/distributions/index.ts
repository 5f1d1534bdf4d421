/** Probability distributions with PyTorch's names. */

import '../base-setup.ts';

export { Bernoulli, Binomial, Geometric } from './binary.ts';
export {
  Categorical,
  Multinomial,
  OneHotCategorical,
  OneHotCategoricalStraightThrough,
} from './categorical.ts';
export { Distribution } from './distribution.ts';
export { klDivergence } from './divergence.ts';
export { Chi2, Gamma, InverseGamma, Poisson, StudentT } from './gamma.ts';
export { Independent } from './independent.ts';
export type { LikelihoodsOf } from './likelihoods.ts';
export { Cauchy, Gumbel, HalfCauchy, Laplace, Uniform } from './location-scale.ts';
export { MixtureSameFamily } from './mixture.ts';
export { type Covariance, MultivariateNormal } from './multivariate-normal.ts';
export { HalfNormal, LogNormal, Normal } from './normal.ts';
export { Exponential, Pareto, Weibull } from './positive.ts';
export { LogitRelaxedBernoulli, RelaxedBernoulli, RelaxedOneHotCategorical } from './relaxed.ts';
export { Beta, Dirichlet } from './simplex.ts';
export { TransformedDistribution } from './transformed.ts';
export {
  type AffineOptions,
  AffineTransform,
  ComposeTransform,
  ExpTransform,
  IndependentTransform,
  PowerTransform,
  SigmoidTransform,
  SoftmaxTransform,
  SoftplusTransform,
  StickBreakingTransform,
  TanhTransform,
  Transform,
} from './transforms.ts';
