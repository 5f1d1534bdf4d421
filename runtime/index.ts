/** The runtime: tensors, autograd, modules and planned programs, without the compiler. */

import './setup.ts';

export { type BackwardOptions, backward, backwardAsync } from './autograd/backward.ts';
export { checkpoint } from './autograd/checkpoint.ts';
export {
  type CustomFunction,
  customFunction,
  type FunctionContext,
} from './autograd/custom-function.ts';
export { type GradOptions, grad } from './autograd/grad.ts';
export { enableGrad, gradEnabled, noGrad } from './autograd/grad-mode.ts';
export type { HookHandle } from './autograd/hooks.ts';
export type { GradHook } from './autograd/node.ts';
export { type Condition, cond, map, scan, whileLoop } from './control-flow/index.ts';
export * as data from './data/index.ts';
export { currentDevice, deviceGuard, deviceNamed, setDevice } from './device/current.ts';
export type { Device, DeviceKind } from './device/device.ts';
export { type InitOptions, init, shutdown } from './device/init.ts';
export { withMetaReads } from './device/meta/meta-device.ts';
export type { ErrorFacts } from './errors/errors.ts';
export {
  ArgumentError,
  AutogradError,
  CaptureError,
  CheckError,
  DataError,
  DeviceError,
  DisposedError,
  DTypeError,
  OutOfMemoryError,
  ShapeError,
  TostaticError,
} from './errors/errors.ts';
export { InvariantError } from './errors/invariant.ts';
export type { UserPosition } from './errors/position.ts';
export {
  type Dim,
  type DimSpec,
  type InputSpec,
  OptionalSpec,
  optionalSpec,
  TensorSpec,
  tensorSpec,
} from './input-spec/spec.ts';
export type { MemoryEvent } from './memory/events.ts';
export * as memory from './memory/memory.ts';
export type { MemoryStats } from './memory/stats.ts';
export { tick } from './memory/tick.ts';
export * as nn from './nn/index.ts';
export {
  type IndexItem,
  type IndexPutOptions,
  index,
  indexPut,
  type SliceIndex,
  slice,
} from './ops/indexing/advanced-index.ts';
export { type AttentionOptions, scaledDotProductAttention } from './ops/products/attention.ts';
export { expand } from './ops/core/broadcast.ts';
export type { CallTraceCounts } from './ops/core/call-trace.ts';
export { cast } from './ops/core/cast.ts';
export { type CholeskyOptions, cholesky } from './ops/linalg/cholesky.ts';
export {
  type CrossEntropyOptions,
  crossEntropy,
  mseLoss,
  type NllOptions,
  nllLoss,
} from './ops/loss/class-losses.ts';
export {
  adjoint,
  corrcoef,
  cov,
  dsplit,
  hsplit,
  isin,
  matrixPower,
  ravel,
  vsplit,
} from './ops/products/compositions.ts';
export { type Conv2dOptions, type ConvOptions, conv1d, conv2d } from './ops/convolution/conv.ts';
export {
  type ConvTransposeOptions,
  convTranspose1d,
  convTranspose2d,
} from './ops/convolution/conv-transpose.ts';
export {
  bincount,
  bucketize,
  histc,
  type SearchOptions,
  searchsorted,
  type UniqueOptions,
  unique,
} from './ops/reduce/counting.ts';
export { type CreateOptions, empty, full, ones, rand, randn, zeros } from './ops/movement/create.ts';
export { maskedSelect, nonzero } from './ops/indexing/data-dependent.ts';
export { det, logdet, slogdet } from './ops/linalg/determinants.ts';
export {
  cumulativeTrapezoid,
  type DiffOptions,
  diff,
  type GradientOptions,
  gradient,
  type TrapezoidOptions,
  trapezoid,
} from './ops/movement/differences.ts';
export {
  cdist,
  cosineSimilarity,
  type NormalizeOptions,
  normalize,
  type PairwiseDistanceOptions,
  pairwiseDistance,
} from './ops/products/distances.ts';
export { alphaDropout, dropout, featureDropout } from './ops/random/dropout.ts';
export { einsum } from './ops/products/einsum.ts';
export { type EmbeddingOptions, embedding, oneHot } from './ops/indexing/embedding.ts';
export { amax, amin, argmax, argmin, max, min } from './ops/reduce/extremes.ts';
export { gather, scatter, scatterAdd, takeAlongDim } from './ops/indexing/gather.ts';
export { indexAdd, indexCopy, indexFill, indexSelect, take } from './ops/indexing/indexing.ts';
export {
  cat,
  cat as concat,
  cat as concatenate,
  columnStack,
  dstack,
  hstack,
  stack,
  vstack,
} from './ops/movement/joining.ts';
export {
  inverse,
  type SolveOptions,
  solve,
  solveTriangular,
  type TriangularOptions,
  type TriangularSolveOptions,
  triangularSolve,
} from './ops/linalg/linear-systems.ts';
export { logSoftmax, softmax, softmin } from './ops/loss/loss.ts';
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
} from './ops/loss/margin-losses.ts';
export { linear, matmul } from './ops/products/matmul.ts';
export {
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  type MaxPoolOptions,
  maxPool1d,
  maxPool2d,
} from './ops/convolution/max-pool.ts';
export { median, nanmedian, quantile } from './ops/reduce/middle.ts';
export {
  contiguous,
  flatten,
  narrow,
  permute,
  reshape,
  select,
  squeeze,
  transpose,
  unsqueeze,
} from './ops/movement/movement.ts';
export {
  type BatchNormOptions,
  batchNorm,
  groupNorm,
  type InstanceNormOptions,
  instanceNorm,
  layerNorm,
  localResponseNorm,
  rmsNorm,
} from './ops/normalization/norms.ts';
export { argsort, kthvalue, msort, sort, topk, type ValuesAndPlaces } from './ops/reduce/order.ts';
export { type PadMode, pad } from './ops/movement/padding.ts';
export { diagEmbed } from './ops/movement/place.ts';
export {
  abs,
  absolute,
  acos,
  acosh,
  add,
  addcdiv,
  addcmul,
  allclose,
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
} from './ops/pointwise/pointwise.ts';
export type { Sizes } from './ops/core/positional.ts';
export {
  type BinaryOptions,
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  type KlDivOptions,
  klDiv,
  type LogitOptions,
} from './ops/loss/probability-losses.ts';
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
} from './ops/products/products.ts';
export {
  bernoulli,
  multinomial,
  normal,
  randint,
  randLike,
  randnLike,
  randperm,
} from './ops/random/random.ts';
export {
  arange,
  emptyLike,
  eye,
  fullLike,
  type LikeOptions,
  linspace,
  type NewOptions,
  onesLike,
  type RangeOptions,
  zerosLike,
} from './ops/movement/ranges.ts';
export {
  flip,
  fliplr,
  flipud,
  repeat,
  repeatInterleave,
  roll,
  rot90,
  tile,
} from './ops/movement/rearrange.ts';
export { type DimOptions, type Dims, mean, type ReduceOptions, sum } from './ops/reduce/reduce.ts';
export type { LossOptions, Reduction } from './ops/reduce/reduction-options.ts';
export {
  diagonalScatter,
  maskedScatter,
  selectScatter,
  sliceScatter,
} from './ops/indexing/regions-replaced.ts';
export {
  type GaussianNllOptions,
  gaussianNllLoss,
  huberLoss,
  l1Loss,
  type PoissonNllOptions,
  poissonNllLoss,
  smoothL1Loss,
} from './ops/loss/regression-losses.ts';
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
} from './ops/convolution/resample.ts';
export { cummax, cummin, logcumsumexp } from './ops/reduce/running-extremes.ts';
export { cumprod, cumsum, prod } from './ops/reduce/scans.ts';
export {
  indexReduce,
  type ScatterOptions,
  type ScatterReduction,
  scatterReduce,
} from './ops/indexing/scatter-reduce.ts';
export { chunk, split, tensorSplit, unbind } from './ops/movement/splitting.ts';
export {
  all,
  aminmax,
  any,
  countNonzero,
  dist,
  logsumexp,
  nanmean,
  nansum,
  norm,
  std,
  stdMean,
  type VarianceKeywords,
  type VarianceOptions,
  variance,
  varMean,
} from './ops/reduce/statistics.ts';
export { trace, tril, triu } from './ops/movement/triangles.ts';
export {
  broadcastTo,
  diag,
  diagonal,
  meshgrid,
  moveaxis,
  movedim,
  swapaxes,
  t,
  unflatten,
} from './ops/movement/views.ts';
export { col2im, im2col, type UnfoldOptions, unfold } from './ops/movement/windows.ts';
export * as optim from './optim/index.ts';
export * as profiler from './profiler/profiler.ts';
export type { Plan, PredictedMemory, Step } from './program/plan.ts';
export { type PrintOptions, printProgram } from './program/print.ts';
export type { Program, ProgramOp, ValueId, ValueTable } from './program/program.ts';
export { type RandomState, randomState, seed, setRandomState } from './random/seed.ts';
export { type LoadFileOptions, load, loadProgram } from './save/load.ts';
export type { LoadedProgram } from './save/loaded-program.ts';
export type { Primitive } from './save/primitive.ts';
export { save } from './save/save.ts';
export type { Savable } from './save/values.ts';
export { type Curves, type PlotOptions, plot, plotPage } from './seeing/plot.ts';
export {
  Progress,
  type ProgressOptions,
  type ProgressTarget,
  progress,
} from './seeing/progress.ts';
export { Summary, type SummaryRow, summary } from './seeing/summary.ts';
export { type NestedArray, type TensorOptions, tensor } from './tensor/create.ts';
export type { DType, TypedArray, TypedArrayOf } from './tensor/dtype.ts';
export type { Promoted } from './tensor/dtype-types.ts';
export { keep, tidy } from './tensor/lifetime.ts';
export type { TensorMeta } from './tensor/meta.ts';
export type { JsonNested, Nested, TensorSummary } from './tensor/nested.ts';
export type { Shape } from './tensor/shape.ts';
export { Tensor } from './tensor/tensor.ts';
export type { TransferTarget } from './tensor/transfer.ts';
export type { TraceModule } from './trace-log/stream.ts';
export { type TraceLogOptions, traceLog } from './trace-log/trace-log.ts';
