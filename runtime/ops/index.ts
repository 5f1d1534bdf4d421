/** The public functions of tensors. Captured code may call all of them; a new op is a file and an export here. */

export {
  type IndexItem,
  type IndexPutOptions,
  index,
  indexPut,
  type SliceIndex,
  slice,
} from './advanced-indexing/advanced-index.ts';
export { type EmbeddingOptions, embedding, oneHot } from './advanced-indexing/embedding.ts';
export {
  diagonalScatter,
  maskedScatter,
  selectScatter,
  sliceScatter,
} from './advanced-indexing/regions-replaced.ts';
export {
  indexReduce,
  type ScatterOptions,
  type ScatterReduction,
  scatterReduce,
} from './advanced-indexing/scatter-reduce.ts';
export { takeAlongDim } from './advanced-indexing/take-along-dim.ts';
export {
  cumulativeTrapezoid,
  type DiffOptions,
  diff,
  type GradientOptions,
  gradient,
  type TrapezoidOptions,
  trapezoid,
} from './arranging/differences.ts';
export {
  type UniqueConsecutiveOptions,
  type UniqueOptions,
  unique,
  uniqueConsecutive,
} from './arranging/distinct.ts';
export { indexFill } from './arranging/index-fill.ts';
export { type PadMode, pad } from './arranging/padding.ts';
export {
  flip,
  fliplr,
  flipud,
  repeat,
  repeatInterleave,
  roll,
  rot90,
  tile,
} from './arranging/rearrange.ts';
export { chunk, split, tensorSplit, unbind } from './arranging/splitting.ts';
export { trace, tril, trilIndices, triu, triuIndices } from './arranging/triangles.ts';
export { type Conv2dOptions, conv1d, conv2d } from './convolution/conv.ts';
export {
  convTranspose1d,
  convTranspose2d,
} from './convolution/conv-transpose.ts';
export type { ConvOptions, ConvTransposeOptions } from './convolution/convolution-options.ts';
export {
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  type MaxPoolOptions,
  maxPool1d,
  maxPool2d,
} from './convolution/max-pool.ts';
export {
  type AvgPoolOptions,
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  avgPool1d,
  avgPool2d,
  avgPool3d,
  type InterpolateOptions,
  type InterpolationMode,
  interpolate,
  pixelShuffle,
  pixelUnshuffle,
} from './convolution/resample.ts';
export { expand } from './core/broadcast.ts';
export type { CallTraceCounts } from './core/call-trace.ts';
export { cast, type DTypeOption } from './core/cast.ts';
export type { CreateOptions } from './core/creation-options.ts';
export { maskedSelect, type NonzeroOptions, nonzero } from './indexing/data-dependent.ts';
export { gather, scatter, scatterAdd } from './indexing/gather.ts';
export { indexAdd, indexCopy, indexSelect, take } from './indexing/indexing.ts';
export * from './linalg/exports.ts';
export {
  type CrossEntropyOptions,
  crossEntropy,
  mseLoss,
  type NllOptions,
  nllLoss,
} from './loss/class-losses.ts';
export {
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
} from './loss/margin-losses.ts';
export {
  type BinaryOptions,
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  type KlDivOptions,
  klDiv,
  type LogitOptions,
} from './loss/probability-losses.ts';
export {
  type GaussianNllOptions,
  gaussianNllLoss,
  huberLoss,
  l1Loss,
  type PoissonNllOptions,
  poissonNllLoss,
  smoothL1Loss,
} from './loss/regression-losses.ts';
export * from './movement/exports.ts';
export {
  type BatchNormOptions,
  batchNorm,
  groupNorm,
  type InstanceNormOptions,
  instanceNorm,
  layerNorm,
  localResponseNorm,
  rmsNorm,
} from './normalization/norms.ts';
export { logSoftmax, softmax, softmin } from './normalization/softmax.ts';
export { i0, i1 } from './pointwise/bessel.ts';
export {
  bitwiseAnd,
  bitwiseLeftShift,
  bitwiseNot,
  bitwiseOr,
  bitwiseRightShift,
  bitwiseXor,
  gcd,
  lcm,
} from './pointwise/integer-pairs.ts';
export {
  abs,
  absolute,
  acos,
  acosh,
  add,
  addcdiv,
  addcmul,
  arccos,
  arccosh,
  arcsin,
  arcsinh,
  arctan,
  arctan2,
  arctanh,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  type ClampBounds,
  type ClosenessOptions,
  ceil,
  celu,
  clamp,
  clampMax,
  clampMin,
  clip,
  copysign,
  cos,
  cosh,
  type DivOptions,
  deg2rad,
  digamma,
  div,
  divide,
  elu,
  eq,
  erf,
  erfc,
  erfinv,
  exp,
  exp2,
  expm1,
  fill,
  fix,
  floatPower,
  floor,
  floorDivide,
  fmax,
  fmin,
  fmod,
  frac,
  ge,
  gelu,
  glu,
  greater,
  greaterEqual,
  gt,
  hardshrink,
  hardsigmoid,
  hardswish,
  hardtanh,
  heaviside,
  hypot,
  isclose,
  isfinite,
  isinf,
  isnan,
  isneginf,
  isposinf,
  le,
  leakyRelu,
  lerp,
  less,
  lessEqual,
  lgamma,
  log,
  log1p,
  log2,
  log10,
  logaddexp,
  logaddexp2,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  logit,
  logSigmoid,
  lt,
  maskedFill,
  maximum,
  minimum,
  mish,
  mul,
  multiply,
  nanToNum,
  ne,
  neg,
  negative,
  notEqual,
  type Operand,
  polygamma,
  positive,
  pow,
  prelu,
  rad2deg,
  reciprocal,
  relu,
  relu6,
  remainder,
  round,
  rsqrt,
  rsub,
  selu,
  sgn,
  sigmoid,
  sign,
  signbit,
  silu,
  sin,
  sinc,
  sinh,
  softplus,
  softshrink,
  softsign,
  sqrt,
  square,
  sub,
  subtract,
  tan,
  tanh,
  tanhshrink,
  threshold,
  trueDivide,
  trunc,
  where,
  xlogy,
} from './pointwise/pointwise.ts';
export { type AttentionOptions, scaledDotProductAttention } from './products/attention.ts';
export {
  adjoint,
  type CovOptions,
  corrcoef,
  cov,
  dsplit,
  hsplit,
  isin,
  ravel,
  vsplit,
} from './products/compositions.ts';
export {
  cdist,
  cosineSimilarity,
  type NormalizeOptions,
  normalize,
  type PairwiseDistanceOptions,
  pairwiseDistance,
} from './products/distances.ts';
export { einsum } from './products/einsum.ts';
export { linear, matmul } from './products/matmul.ts';
export {
  type AddProductOptions,
  addbmm,
  addmm,
  addmv,
  addr,
  baddbmm,
  bilinear,
  bmm,
  cross,
  dot,
  inner,
  kron,
  mm,
  mv,
  outer,
  tensordot,
  vdot,
} from './products/products.ts';
export { rand, randn } from './random/drawn.ts';
export { alphaDropout, dropout, featureAlphaDropout, featureDropout } from './random/dropout.ts';
export {
  bernoulli,
  multinomial,
  normal,
  randint,
  randLike,
  randnLike,
  randperm,
} from './random/random.ts';
export type { Keyword, Sizes } from './record/positional.ts';
export {
  bincount,
  bucketize,
  histc,
  type SearchOptions,
  searchsorted,
} from './reduce/counting.ts';
export { amax, amin, argmax, argmin, max, min } from './reduce/extremes.ts';
export { median, nanmedian } from './reduce/middle.ts';
export {
  argsort,
  kthvalue,
  msort,
  type SortOptions,
  sort,
  type TopkOptions,
  topk,
  type ValuesAndIndices,
} from './reduce/order.ts';
export {
  type Interpolation,
  nanquantile,
  type QuantileOptions,
  quantile,
} from './reduce/quantiles.ts';
export {
  type DimOptions,
  type Dims,
  mean,
  type ReduceOptions,
  type SumOptions,
  sum,
} from './reduce/reduce.ts';
export type { LossOptions, Reduction } from './reduce/reduction-options.ts';
export { cummax, cummin, logcumsumexp } from './reduce/running-extremes.ts';
export { cumprod, cumsum, prod } from './reduce/scans.ts';
export {
  all,
  allclose,
  aminmax,
  any,
  countNonzero,
  dist,
  logsumexp,
  nanmean,
  nansum,
  std,
  stdMean,
  type VarianceKeywords,
  type VarianceOptions,
  variance,
  varMean,
} from './reduce/statistics.ts';
