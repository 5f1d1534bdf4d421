/** The runtime: tensors, autograd, modules and planned programs, without the compiler. */

import './device/cpu/cpu-device.ts';
import './device/meta/meta-device.ts';
import './tensor/methods.ts';
import './tensor/operators.ts';

export { type BackwardOptions, backward } from './autograd/backward.ts';
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
export {
  ArgumentError,
  AutogradError,
  CaptureError,
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
export type { MemoryEvent } from './memory/events.ts';
export * as memory from './memory/memory.ts';
export type { MemoryStats } from './memory/stats.ts';
export * as nn from './nn/index.ts';
export {
  type IndexItem,
  type IndexPutOptions,
  index,
  indexPut,
  type SliceIndex,
  slice,
} from './ops/advanced-index.ts';
export { expand } from './ops/broadcast.ts';
export { cast } from './ops/cast.ts';
export { type Conv2dOptions, conv2d, maxPool2d, type Pool2dOptions } from './ops/conv.ts';
export { type CreateOptions, full, ones, rand, randn, zeros } from './ops/create.ts';
export { maskedSelect, nonzero } from './ops/data-dependent.ts';
export { alphaDropout, dropout, featureDropout } from './ops/dropout.ts';
export { type EmbeddingOptions, embedding, oneHot } from './ops/embedding.ts';
export { amax, amin, argmax, argmin, max, min } from './ops/extremes.ts';
export { gather, scatter, scatterAdd, takeAlongDim } from './ops/gather.ts';
export { indexAdd, indexCopy, indexFill, indexSelect, take } from './ops/indexing.ts';
export { cat, dstack, hstack, stack, vstack } from './ops/joining.ts';
export { crossEntropy, logSoftmax, mseLoss, nllLoss, softmax } from './ops/loss.ts';
export { linear, matmul } from './ops/matmul.ts';
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
} from './ops/movement.ts';
export { argsort, kthvalue, msort, sort, topk } from './ops/order.ts';
export { type PadMode, pad } from './ops/padding.ts';
export { diagEmbed } from './ops/place.ts';
export {
  abs,
  acos,
  acosh,
  add,
  addcdiv,
  addcmul,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  ceil,
  clamp,
  clampMax,
  clampMin,
  cos,
  cosh,
  type DivOptions,
  div,
  elu,
  eq,
  erf,
  erfc,
  exp,
  exp2,
  expm1,
  floor,
  floorDivide,
  fmod,
  frac,
  ge,
  gelu,
  gt,
  hardsigmoid,
  hardswish,
  hardtanh,
  isfinite,
  isinf,
  isnan,
  le,
  leakyRelu,
  lerp,
  log,
  log1p,
  log2,
  log10,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  logSigmoid,
  lt,
  maskedFill,
  maximum,
  minimum,
  mish,
  mul,
  nanToNum,
  ne,
  neg,
  type Operand,
  pow,
  reciprocal,
  relu,
  relu6,
  remainder,
  round,
  rsqrt,
  selu,
  sigmoid,
  sign,
  silu,
  sin,
  sinh,
  softplus,
  softsign,
  sqrt,
  square,
  sub,
  tan,
  tanh,
  trunc,
  where,
  xlogy,
} from './ops/pointwise.ts';
export {
  bernoulli,
  multinomial,
  randint,
  randLike,
  randnLike,
  randperm,
} from './ops/random.ts';
export {
  arange,
  eye,
  fullLike,
  type LikeOptions,
  linspace,
  onesLike,
  type RangeOptions,
  zerosLike,
} from './ops/ranges.ts';
export {
  flip,
  fliplr,
  flipud,
  repeat,
  repeatInterleave,
  roll,
  rot90,
  tile,
} from './ops/rearrange.ts';
export { mean, type ReduceOptions, sum } from './ops/reduce.ts';
export { cumprod, cumsum, prod } from './ops/scans.ts';
export { chunk, split, tensorSplit, unbind } from './ops/splitting.ts';
export {
  all,
  any,
  countNonzero,
  logsumexp,
  norm,
  std,
  type VarianceOptions,
  variance,
} from './ops/statistics.ts';
export { trace, tril, triu } from './ops/triangles.ts';
export {
  broadcastTo,
  diag,
  diagonal,
  meshgrid,
  movedim,
  swapaxes,
  t,
  unflatten,
} from './ops/views.ts';
export { unfold } from './ops/windows.ts';
export * as optim from './optim/index.ts';
export { printProgram } from './program/print.ts';
export type { Program } from './program/program.ts';
export { type RandomState, randomState, seed, setRandomState } from './random/seed.ts';
export { type NestedArray, type TensorOptions, tensor } from './tensor/create.ts';
export type { DType, TypedArray } from './tensor/dtype.ts';
export { keep, tidy } from './tensor/lifetime.ts';
export { Tensor } from './tensor/tensor.ts';
